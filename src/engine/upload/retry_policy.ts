/**
 * When to try again, and how long an attempt may take. Seed: `RetryPolicy`.
 * Owns: the decision alone. Does not own: attempts, timers.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Random } from "../port/random.ts";

/**
 * What an attempt ends with that took longer than its policy allows.
 *
 * @example
 * ```ts
 * import { AttemptTimeoutError, RetryPolicy } from "@tidemark/tidemark";
 *
 * const policy = RetryPolicy.fixed(3, 30_000, 500);
 * const error = new AttemptTimeoutError(1, 30_000);
 * console.assert(policy.retryAfterMs(1, error, 30_000) === 0); // tries again at once
 * ```
 */
export class AttemptTimeoutError extends Error {
  /** Tells it apart from other errors. */
  override readonly name = "AttemptTimeoutError";
  /** Which attempt, from 1. */
  readonly attempt: number;
  /** How long it was allowed to take, in milliseconds. */
  readonly timeoutMs: number;

  /**
   * Makes the error of one attempt.
   *
   * @param attempt Which, from 1.
   * @param timeoutMs Milliseconds that it was allowed to take.
   */
  constructor(attempt: number, timeoutMs: number) {
    super(`Attempt ${attempt} took longer than ${timeoutMs} ms`);
    this.attempt = attempt;
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Decides about attempts. Pure: waits for nothing, and does nothing. Seed: `RetryPolicy`.
 *
 * @example
 * ```ts
 * import { RetryPolicy, TidemarkError } from "@tidemark/tidemark";
 *
 * const policy: RetryPolicy = RetryPolicy.fixed(3, 30_000, 500);
 * const error = new TidemarkError("storage-unavailable", "Cannot write");
 * console.assert(policy.retryAfterMs(1, error, 20) === 500);
 * console.assert(policy.retryAfterMs(3, error, 1_100) === undefined); // the last attempt
 * ```
 */
export interface RetryPolicy {
  /** As in the setting `uploadRetryPolicy`. */
  readonly name: "none" | "fixed" | "exponential";
  /**
   * How long an attempt may take, the wait for its turn included.
   *
   * @param attempt Which, from 1.
   * @returns Milliseconds; undefined: as long as it takes.
   */
  timeoutMs(attempt: number): number | undefined;
  /**
   * Whether and when there is a next attempt.
   *
   * @param attempt The attempt that failed, from 1.
   * @param error What it failed with.
   * @param elapsedMs Milliseconds since the first attempt began.
   * @returns Milliseconds to wait before it; undefined: give up.
   */
  retryAfterMs(attempt: number, error: unknown, elapsedMs: number): number | undefined;
}

/**
 * Options of {@link RetryPolicy.exponential}.
 *
 * @example
 * ```ts
 * import { type ExponentialRetryOptions, RetryPolicy } from "@tidemark/tidemark";
 *
 * const options: ExponentialRetryOptions = {
 *   attemptsMax: 5,
 *   timeoutMs: 30_000,
 *   delayMsMin: 500,
 *   delayMsMax: 10_000,
 *   deadlineMs: 120_000,
 *   random: { fill: (bytes) => void crypto.getRandomValues(bytes) },
 * };
 * console.assert(RetryPolicy.exponential(options).timeoutMs(1) === 30_000);
 * ```
 */
export interface ExponentialRetryOptions {
  /** Attempts in all, the first included. */
  readonly attemptsMax: number;
  /** Milliseconds that an attempt may take; 0 or less: as long as it takes. */
  readonly timeoutMs: number;
  /** Upper bound of the first wait, in milliseconds; it doubles with each attempt. */
  readonly delayMsMin: number;
  /** Upper bound of every wait, in milliseconds. */
  readonly delayMsMax: number;
  /** Milliseconds after the first attempt began at which none begins any more. */
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

/**
 * The policies: no second attempt, the same wait each time, or waits that grow. Seed: `RetryPolicy.fixed`.
 *
 * @example
 * ```ts
 * import { RetryPolicy } from "@tidemark/tidemark";
 *
 * console.assert(RetryPolicy.none().retryAfterMs(1, new Error("any"), 0) === undefined);
 * console.assert(RetryPolicy.fixed(3, 30_000, 500).timeoutMs(1) === 30_000);
 * ```
 */
export const RetryPolicy: {
  /** One attempt, without a timeout. */
  none(): RetryPolicy;
  /**
   * The same wait before each attempt, and none after a timeout.
   *
   * @param maxAttempts Attempts in all, the first included.
   * @param timeoutMs Milliseconds that an attempt may take; 0 or less: as long as it takes.
   * @param delayAfterFailureMs Milliseconds to wait after a failure.
   * @returns The policy.
   * @throws {RangeError} `maxAttempts` is no whole number from 1 on.
   */
  fixed(maxAttempts: number, timeoutMs: number, delayAfterFailureMs: number): RetryPolicy;
  /**
   * Waits that grow, each drawn evenly between 0 and its bound (full jitter), up to a deadline for all.
   *
   * @param options Attempts, times, and what draws.
   * @returns The policy.
   * @throws {RangeError} `attemptsMax` is no whole number from 1 on.
   */
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
