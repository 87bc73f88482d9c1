/** Time. @module */

/**
 * A pending call of {@link Clock.schedule}.
 *
 * @example
 * ```ts
 * import type { Timer } from "@tidemark/tidemark";
 *
 * function wait(delayMs: number, action: () => void): Timer {
 *   const id = setTimeout(action, delayMs);
 *   return { cancel: () => clearTimeout(id) };
 * }
 * wait(60_000, () => console.log("never")).cancel();
 * ```
 */
export interface Timer {
  /** Prevents the call. Does nothing when it was already made. */
  cancel(): void;
}

/**
 * Options of {@link Clock.schedule}.
 *
 * @example
 * ```ts
 * import type { ScheduleOptions } from "@tidemark/tidemark";
 *
 * const options: ScheduleOptions = { keepsAlive: true };
 * console.assert(options.keepsAlive);
 * ```
 */
export interface ScheduleOptions {
  /** Whether the process stays alive for the call: somebody waits for it. @default false */
  readonly keepsAlive?: boolean;
}

/**
 * Time, passed in so that tests can drive it.
 *
 * @example
 * ```ts
 * import type { Clock } from "@tidemark/tidemark";
 *
 * const clock: Clock = {
 *   nowMs: () => Date.now(),
 *   monotonicMs: () => performance.now(),
 *   schedule(delayMs, action) {
 *     const id = setTimeout(action, delayMs);
 *     return { cancel: () => clearTimeout(id) };
 *   },
 * };
 * console.assert(clock.monotonicMs() <= clock.monotonicMs());
 * ```
 */
export interface Clock {
  /**
   * Wall-clock time. Used in names and records, never to order anything.
   *
   * @returns Milliseconds since 1970.
   */
  nowMs(): number;
  /**
   * Time that never goes back. Used for every duration.
   *
   * @returns Milliseconds since a moment of its own, with a fraction where it has one.
   */
  monotonicMs(): number;
  /**
   * Calls once, later.
   *
   * @param delayMs Milliseconds from now.
   * @param action What to call. Doesn't throw.
   * @param options Whether somebody waits for it. @default {}
   * @returns What prevents the call.
   */
  schedule(delayMs: number, action: () => void, options?: ScheduleOptions): Timer;
}
