/**
 * Runs an operation until an attempt succeeds or the policy gives up. The one retry layer of the engine.
 * Seed: `RetryingExecutor`.
 * Owns: attempts, their timers and signals, how many run at once, handing over what lost.
 * Does not own: whether to try again (`RetryPolicy`), what an attempt does.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Clock, Timer } from "../port/clock.ts";
import type { Logger } from "../port/logger.ts";
import { Slots } from "./_slots.ts";
import { AttemptTimeoutError, type RetryPolicy } from "./retry_policy.ts";

/**
 * One attempt, as its operation sees it.
 *
 * @example
 * ```ts
 * import type { Attempt } from "@tidemark/tidemark";
 *
 * async function download({ ordinal, signal }: Attempt, url: string): Promise<Response> {
 *   console.log(`attempt ${ordinal}`);
 *   return await fetch(url, { signal });
 * }
 * console.assert(download.length === 2);
 * ```
 */
export interface Attempt {
  /** Counts from 1. */
  readonly ordinal: number;
  /** Aborted as soon as nothing is wanted of the attempt any more. */
  readonly signal: AbortSignal;
}

/**
 * Options of {@link RetryingExecutor.execute}.
 *
 * @example
 * ```ts
 * import type { ExecuteOptions } from "@tidemark/tidemark";
 *
 * const options: ExecuteOptions<string> = {
 *   overlapping: true,
 *   onLoser: (name) => console.log(`${name} is not needed`),
 *   onFailure: (attempt, error) => console.log(`attempt ${attempt} failed`, error),
 * };
 * console.assert(options.overlapping);
 * ```
 */
export interface ExecuteOptions<Result> {
  /**
   * Whether a timed-out attempt goes on beside the next one, and wins if it is done first. Otherwise its signal is
   * aborted before the next begins, and whatever becomes of it is ignored. @default true
   */
  readonly overlapping?: boolean;
  /** Gets every result but the first, those after a failure or a close included. @default ignored */
  readonly onLoser?: (result: Result) => void;
  /** Gives the whole up. @default never */
  readonly signal?: AbortSignal;
  /** Told of each attempt that failed or timed out before the operation was done. @default nobody */
  readonly onFailure?: (attempt: number, error: unknown) => void;
  /** Told once: which attempt won, and how many there were. @default nobody */
  readonly onSuccess?: (attempt: number, attempts: number) => void;
}

/**
 * What an executor is given by its surroundings.
 *
 * @example
 * ```ts
 * import { type RetryingExecutorPorts, SILENT_LOGGER } from "@tidemark/tidemark";
 *
 * const ports: RetryingExecutorPorts = {
 *   clock: { nowMs: () => 0, monotonicMs: () => 0, schedule: () => ({ cancel() {} }) }, // stands still
 *   logger: SILENT_LOGGER,
 * };
 * console.assert(ports.clock.monotonicMs() === 0);
 * ```
 */
export interface RetryingExecutorPorts {
  /** Drives timeouts and waits. */
  readonly clock: Clock;
  /** Told when a callback throws. */
  readonly logger: Logger;
}

/**
 * Options of a {@link RetryingExecutor}.
 *
 * @example
 * ```ts
 * import type { RetryingExecutorOptions } from "@tidemark/tidemark";
 *
 * const options: RetryingExecutorOptions = { attemptsInFlightMax: 5 };
 * console.assert(options.attemptsInFlightMax === 5);
 * ```
 */
export interface RetryingExecutorOptions {
  /** Attempts that run at once, over all operations, hung ones included. */
  readonly attemptsInFlightMax: number;
}

/**
 * Runs operations with retries. Seed: `RetryingExecutor`.
 *
 * @example Upload with retries, and settle the tasks
 * ```ts
 * import {
 *   RetryingExecutor,
 *   RetryPolicy,
 *   SILENT_LOGGER,
 *   type StateChangeUploader,
 *   TidemarkError,
 *   UploadTask,
 * } from "@tidemark/tidemark";
 *
 * const retryPolicy = RetryPolicy.fixed(
 *   3, // attempts at most
 *   5_000, // milliseconds that each may take
 *   1, // milliseconds to wait after a failure
 * );
 * const clock = {
 *   nowMs: () => Date.now(),
 *   monotonicMs: () => performance.now(),
 *   schedule(delayMs: number, action: () => void) {
 *     const timer = setTimeout(action, delayMs);
 *     return { cancel: () => clearTimeout(timer) };
 *   },
 * };
 * await using executor = new RetryingExecutor(
 *   { clock, logger: SILENT_LOGGER },
 *   { attemptsInFlightMax: 5 },
 * );
 *
 * let uploads = 0;
 * const uploader: StateChangeUploader = {
 *   canOverlap: false,
 *   upload(tasks) {
 *     if (++uploads < 3) throw new TidemarkError("storage-unavailable", "Cannot write: try again");
 *     return Promise.resolve({
 *       successful: new Map(tasks.map((task) => [task, []])),
 *       failed: new Map(),
 *     });
 *   },
 *   close: () => Promise.resolve(),
 * };
 * const outcomes: string[] = [];
 * const tasks = [
 *   new UploadTask([], () => outcomes.push("uploaded"), () => outcomes.push("failed")),
 * ];
 * try {
 *   const result = await executor.execute(
 *     ({ signal }) => uploader.upload(tasks, { signal }),
 *     retryPolicy,
 *     { overlapping: uploader.canOverlap },
 *   );
 *   for (const [task, results] of result.successful) task.complete(results);
 *   for (const [task, error] of result.failed) task.fail(error);
 * } catch (error) {
 *   // It failed after all attempts: fail the checkpoint, and recover.
 *   for (const task of tasks) task.fail(error as Error);
 * }
 * console.assert(uploads === 3 && outcomes.join() === "uploaded");
 * ```
 */
export class RetryingExecutor implements AsyncDisposable {
  readonly #ports: RetryingExecutorPorts;
  readonly #slots: Slots;
  readonly #actions = new Set<{ fail(error: unknown): void }>();
  #closed: Error | undefined;

  /**
   * Makes an executor that nothing runs on yet.
   *
   * @param ports Time, and who is told.
   * @param options How much runs at once.
   */
  constructor(ports: RetryingExecutorPorts, options: RetryingExecutorOptions) {
    this.#ports = ports;
    this.#slots = new Slots(options.attemptsInFlightMax);
  }

  /** Attempts that run at most. */
  get attemptsInFlightMax(): number {
    return this.#slots.max;
  }

  /** Attempts that run now, hung ones included. */
  get attemptsInFlight(): number {
    return this.#slots.used;
  }

  /**
   * Runs an operation until an attempt succeeds or the policy gives up. The time that an attempt may take counts from
   * when it is due, even if others hold all places.
   *
   * @param operation Begins one attempt.
   * @param retryPolicy Decides about the next.
   * @param options Overlapping, losers, what gives it up, who is told. @default {}
   * @returns What the first successful attempt gave.
   * @throws What the attempt failed with after which there was no other.
   */
  execute<Result>(
    operation: (attempt: Attempt) => Promise<Result>,
    retryPolicy: RetryPolicy,
    options: ExecuteOptions<Result> = {},
  ): Promise<Result> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    return new Promise<Result>((resolve, reject) => {
      const done = () => void this.#actions.delete(action);
      const action = new Action(
        { ...options, ...this.#ports, slots: this.#slots, operation, policy: retryPolicy },
        { resolve, reject, done },
      );
      this.#actions.add(action);
      action.begin();
    });
  }

  /**
   * Fails everything that runs, and aborts its attempts. Idempotent: the first reason counts.
   *
   * @param reason What it fails with. @default a {@link TidemarkError} `closed`
   */
  close(reason?: Error): Promise<void> {
    this.#closed ??= reason ??
      new TidemarkError("closed", "The executor is closed: nothing is tried again", {
        outcome: "unknown",
      });
    for (const action of [...this.#actions]) action.fail(this.#closed);
    return Promise.resolve();
  }

  /** Closes it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

interface ActionOptions<Result> extends ExecuteOptions<Result>, RetryingExecutorPorts {
  readonly slots: Slots;
  readonly policy: RetryPolicy;
  readonly operation: (attempt: Attempt) => Promise<Result>;
}

interface Settle<Result> {
  resolve(result: Result): void;
  reject(error: unknown): void;
  done(): void;
}

interface RunningAttempt {
  readonly ordinal: number;
  readonly abort: AbortController;
  /** It has failed or timed out. */
  isOver: boolean;
  timeout?: Timer;
  leaveQueue?: () => void;
}

/** One operation on its way to a result. */
class Action<Result> {
  readonly #options: ActionOptions<Result>;
  readonly #settle: Settle<Result>;
  readonly #overlapping: boolean;
  readonly #startMs: number;
  readonly #attempts = new Set<RunningAttempt>();
  readonly #delays = new Set<Timer>();
  readonly #onAbort = () => this.fail(this.#options.signal!.reason);
  #isSettled = false;
  /** Attempts that have neither failed nor timed out, and those that are due. */
  #active = 0;
  #total = 0;

  constructor(options: ActionOptions<Result>, settle: Settle<Result>) {
    this.#options = options;
    this.#settle = settle;
    this.#overlapping = options.overlapping ?? true;
    this.#startMs = options.clock.monotonicMs();
  }

  begin(): void {
    this.#options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#attemptAfter(0, 1);
  }

  fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#end(error);
    this.#settle.reject(error);
  }

  #attemptAfter(delayMs: number, ordinal: number): void {
    this.#active += 1;
    if (delayMs <= 0) {
      this.#attempt(ordinal);
      return;
    }
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#delays.delete(timer);
      this.#attempt(ordinal);
    }, { keepsAlive: true });
    this.#delays.add(timer);
  }

  #attempt(ordinal: number): void {
    const { policy, clock, slots } = this.#options;
    let timeoutMs: number | undefined;
    try {
      timeoutMs = policy.timeoutMs(ordinal);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#total += 1;
    const attempt: RunningAttempt = { ordinal, abort: new AbortController(), isOver: false };
    this.#attempts.add(attempt);
    if (timeoutMs !== undefined) {
      const error = () => new AttemptTimeoutError(ordinal, timeoutMs);
      const timedOut = () => this.#timedOut(attempt, error());
      attempt.timeout = clock.schedule(timeoutMs, timedOut, { keepsAlive: true });
    }
    attempt.leaveQueue = slots.request(() => void this.#run(attempt));
  }

  async #run(attempt: RunningAttempt): Promise<void> {
    const { ordinal, abort } = attempt;
    let result: Result;
    try {
      // What throws at once must not be tried again within this call, or many retries nest too deep.
      const running = new Promise<Result>((resolve) =>
        resolve(this.#options.operation({ ordinal, signal: abort.signal }))
      );
      result = await running;
    } catch (error) {
      this.#leave(attempt);
      this.#over(attempt, error);
      return;
    }
    this.#leave(attempt);
    this.#succeeded(attempt, result);
  }

  #leave(attempt: RunningAttempt): void {
    this.#attempts.delete(attempt);
    attempt.timeout?.cancel();
    this.#options.slots.release();
  }

  #succeeded(attempt: RunningAttempt, result: Result): void {
    const { onLoser, onSuccess } = this.#options;
    if (!this.#isSettled && (this.#overlapping || !attempt.isOver)) {
      const total = this.#total;
      this.#end(undefined);
      this.#settle.resolve(result);
      this.#tell("of its success", () => onSuccess?.(attempt.ordinal, total));
    } else if (this.#overlapping) {
      this.#tell("of a superfluous result", () => onLoser?.(result));
    }
  }

  #timedOut(attempt: RunningAttempt, error: AttemptTimeoutError): void {
    attempt.leaveQueue?.();
    if (!this.#overlapping) attempt.abort.abort(error);
    this.#over(attempt, error);
  }

  #over(attempt: RunningAttempt, error: unknown): void {
    if (attempt.isOver || this.#isSettled) return;
    attempt.isOver = true;
    const { policy, clock, onFailure } = this.#options;
    this.#tell("of a failed attempt", () => onFailure?.(attempt.ordinal, error));
    let delayMs: number | undefined;
    try {
      const elapsedMs = clock.monotonicMs() - this.#startMs;
      delayMs = policy.retryAfterMs(attempt.ordinal, error, elapsedMs);
    } catch (thrown) {
      this.fail(thrown);
      return;
    }
    if (delayMs !== undefined) this.#attemptAfter(delayMs, attempt.ordinal + 1);
    this.#active -= 1;
    if (this.#active === 0) this.fail(error);
  }

  /** Ends the action once; what still runs is told that nothing is wanted of it. */
  #end(error: unknown): void {
    this.#isSettled = true;
    this.#settle.done();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    for (const timer of this.#delays) timer.cancel();
    for (const attempt of this.#attempts) {
      attempt.timeout?.cancel();
      attempt.leaveQueue?.();
      attempt.abort.abort(error ?? new TidemarkError("aborted", "Another attempt was done first"));
    }
  }

  /** A callback that throws must change nothing of what becomes of the operation. */
  #tell(of: string, callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#options.logger.log("error", `Whoever was told ${of} has thrown`, { error });
    }
  }
}
