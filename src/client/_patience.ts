/** Waits between attempts of what can't be sent again as it was. */
import { orAborted } from "../engine/checkpoint/or_aborted.ts";
import { TidemarkError } from "../engine/errors.ts";
import type { Clock, Timer } from "../engine/port/clock.ts";
import type { Random } from "../engine/port/random.ts";
import { RetryPolicy } from "../engine/upload/retry_policy.ts";
import type { RetrySettings } from "./transport.ts";

const TRANSIENT = new TidemarkError("server-unreachable", "It may go on");

/** Counts failures since something was achieved, and waits after each. */
export class Patience {
  readonly #clock: Clock;
  readonly #policy: RetryPolicy;
  readonly #deadlineMs: number;
  #failures = 0;
  #startMs: number;

  constructor(clock: Clock, random: Random, settings: RetrySettings) {
    this.#clock = clock;
    this.#deadlineMs = settings.retryDeadlineMs;
    this.#policy = RetryPolicy.exponential({
      attemptsMax: Number.MAX_SAFE_INTEGER,
      timeoutMs: 0,
      delayMsMin: settings.retryDelayMsMin,
      delayMsMax: settings.retryDelayMsMax,
      deadlineMs: settings.retryDeadlineMs,
      random,
    });
    this.#startMs = clock.monotonicMs();
  }

  /** Something was achieved: it is counted anew from here. */
  achieved(): void {
    this.#failures = 0;
    this.#startMs = this.#clock.monotonicMs();
  }

  /** Waits before the next attempt. @throws `failure` when that would be too late; the reason of a signal */
  async wait(failure: unknown, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    const elapsedMs = this.#clock.monotonicMs() - this.#startMs;
    const isOver = elapsedMs >= this.#deadlineMs;
    const delayMs = isOver
      ? undefined
      : this.#policy.retryAfterMs(++this.#failures, TRANSIENT, elapsedMs);
    if (delayMs === undefined) throw failure;
    let timer: Timer | undefined;
    const over = new Promise<void>((resolve) => {
      timer = this.#clock.schedule(delayMs, resolve, { keepsAlive: true });
    });
    try {
      await signals.reduce((wait, signal) => orAborted(wait, signal), over);
    } finally {
      timer?.cancel();
    }
  }
}
