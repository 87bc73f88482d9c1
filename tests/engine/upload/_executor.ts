/** A retrying executor with attempts that a test ends one by one. @module */
import type { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import {
  type ExecuteOptions,
  RetryingExecutor,
} from "../../../src/engine/upload/retrying_executor.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { turn } from "../_engine.ts";

interface BegunAttempt {
  /** Which operation, from 0. */
  readonly run: number;
  readonly ordinal: number;
  readonly signal: AbortSignal;
  resolve(result: string): void;
  reject(error: unknown): void;
}

/** An executor, and what became of its attempts. Its attempts pay no heed to signals. */
export class ExecutorBench {
  readonly clock: ManualClock = new ManualClock();
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly executor: RetryingExecutor;
  /** Attempts that have begun, of all operations, in order. */
  readonly attempts: BegunAttempt[] = [];
  readonly losers: string[] = [];
  readonly failures: [attempt: number, error: unknown][] = [];
  readonly successes: [attempt: number, attempts: number][] = [];
  #runs = 0;

  constructor(attemptsInFlightMax = 5) {
    const { clock, logger } = this;
    this.executor = new RetryingExecutor({ clock, logger }, { attemptsInFlightMax });
  }

  /** Runs an operation whose attempts are ended by {@link succeed} and {@link fail}. */
  run(policy: RetryPolicy, options: ExecuteOptions<string> = {}): Promise<string> {
    const run = this.#runs++;
    const result = this.executor.execute<string>(
      ({ ordinal, signal }) =>
        new Promise((resolve, reject) => {
          this.attempts.push({ run, ordinal, signal, resolve, reject });
        }),
      policy,
      {
        onLoser: (result) => this.losers.push(result),
        onFailure: (attempt, error) => this.failures.push([attempt, error]),
        onSuccess: (attempt, attempts) => this.successes.push([attempt, attempts]),
        ...options,
      },
    );
    result.catch(() => {
      // The test looks at every error, but only when it has ended the attempts.
    });
    return result;
  }

  /** Ends an attempt, by its number from 1 over all operations. */
  async succeed(number: number): Promise<void> {
    this.attempts[number - 1].resolve(`result ${number}`);
    await turn();
  }

  async fail(number: number, error: unknown): Promise<void> {
    this.attempts[number - 1].reject(error);
    await turn();
  }
}
