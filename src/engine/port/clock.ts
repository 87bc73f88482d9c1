/** A pending call of {@link Clock.schedule}. */
export interface Timer {
  /** Prevents the call. Does nothing when it was already made. */
  cancel(): void;
}

/** Time, passed in so that tests can drive it. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. Used in names and records, never to order anything. */
  nowMs(): number;
  /** Time in milliseconds that never goes back. Used for every duration. */
  monotonicMs(): number;
  /** Calls `action` once, `delayMs` from now. A pending timer does not keep the process alive. */
  schedule(delayMs: number, action: () => void): Timer;
}
