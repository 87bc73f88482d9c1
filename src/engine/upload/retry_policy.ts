/**
 * When to try again, and how long an attempt may take. Seed: `RetryPolicy`.
 * Owns: the decision alone. Does not own: attempts, timers.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Random } from "../port/random.ts";

/** What an attempt ends with that took longer than its policy allows. */
export class AttemptTimeoutError extends Error {
  /** Tells it apart from other errors. */
  override readonly name = "AttemptTimeoutError";
  /** Which attempt, from 1. */
  readonly attempt: number;
  /** How long it was allowed to take, in milliseconds. */
  readonly timeoutMs: number;

  /** Makes the error of one attempt. */
  constructor(attempt: number, timeoutMs: number) {
    super(`Attempt ${attempt} took longer than ${timeoutMs} ms`);
    this.attempt = attempt;
    this.timeoutMs = timeoutMs;
  }
}

/** Decides about attempts. */
export interface RetryPolicy {
  /** As in the setting `uploadRetryPolicy`. */
  readonly name: "none" | "fixed" | "exponential";
  /** Milliseconds that an attempt may take, the wait for its turn included; undefined: as long as it takes. */
  timeoutMs(attempt: number): number | undefined;
  /**
   * Milliseconds to wait before the next attempt; undefined: give up.
   *
   * @param attempt The attempt that failed, from 1.
   * @param error What it failed with.
   * @param elapsedMs Time since the first attempt began.
   */
  retryAfterMs(attempt: number, error: unknown, elapsedMs: number): number | undefined;
}

/** Options of {@link RetryPolicy.exponential}. */
export interface ExponentialRetryOptions {
  /** Attempts in all, the first included. */
  readonly attemptsMax: number;
  /** Milliseconds that an attempt may take; 0 or less: as long as it takes. */
  readonly timeoutMs: number;
  /** Upper bound of the first wait; it doubles with each attempt. */
  readonly delayMsMin: number;
  /** Upper bound of every wait. */
  readonly delayMsMax: number;
  /** No attempt begins later than this after the first. */
  readonly deadlineMs: number;
  /** Draws the waits. */
  readonly random: Random;
}

/** Whether an attempt took too long, by its policy or by a signal of its own. */
export function isTimeout(error: unknown): boolean {
  return error instanceof AttemptTimeoutError ||
    (error instanceof DOMException && error.name === "TimeoutError");
}

/** Whether the same attempt may succeed later: a timeout, or an error of the storage that says so. */
export function isRetryable(error: unknown): boolean {
  return isTimeout(error) || (error instanceof TidemarkError && error.retryable);
}

/** The policies. */
export const RetryPolicy: {
  /** One attempt, without a timeout. */
  none(): RetryPolicy;
  /**
   * The same wait before each attempt, and none after a timeout.
   *
   * @param maxAttempts Attempts in all, the first included.
   * @param timeoutMs Milliseconds that an attempt may take; 0 or less: as long as it takes.
   * @param delayAfterFailureMs Milliseconds to wait after a failure.
   */
  fixed(maxAttempts: number, timeoutMs: number, delayAfterFailureMs: number): RetryPolicy;
  /** Waits that grow, each drawn evenly between 0 and its bound (full jitter), up to a deadline for all. */
  exponential(options: ExponentialRetryOptions): RetryPolicy;
} = {
  none: () => ({ name: "none", timeoutMs: () => undefined, retryAfterMs: () => undefined }),

  fixed(maxAttempts, timeoutMs, delayAfterFailureMs) {
    checkAttempts(maxAttempts);
    return {
      name: "fixed",
      timeoutMs: () => timeoutMs > 0 ? timeoutMs : undefined,
      retryAfterMs(attempt, error) {
        if (attempt >= maxAttempts || !isRetryable(error)) return undefined;
        return isTimeout(error) ? 0 : delayAfterFailureMs;
      },
    };
  },

  exponential({ attemptsMax, timeoutMs, delayMsMin, delayMsMax, deadlineMs, random }) {
    checkAttempts(attemptsMax);
    return {
      name: "exponential",
      timeoutMs: () => timeoutMs > 0 ? timeoutMs : undefined,
      retryAfterMs(attempt, error, elapsedMs) {
        if (attempt >= attemptsMax || !isRetryable(error)) return undefined;
        const bound = Math.min(delayMsMax, delayMsMin * 2 ** Math.min(attempt - 1, 1000));
        const delayMs = fraction(random) * bound;
        return elapsedMs + delayMs <= deadlineMs ? delayMs : undefined;
      },
    };
  },
};

function checkAttempts(attemptsMax: number): void {
  if (Number.isInteger(attemptsMax) && attemptsMax >= 1) return;
  throw new RangeError(`Cannot retry with ${attemptsMax} attempts: wants a whole number from 1 on`);
}

/** Evenly from 0 to below 1. */
function fraction(random: Random): number {
  const bytes = new Uint8Array(4);
  random.fill(bytes);
  return new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
}
