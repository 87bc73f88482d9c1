/** A pending call of {@link Clock.schedule}. */
export interface Timer {
  /** Prevents the call. Does nothing when it was already made. */
  cancel(): void;
}

/** Options of {@link Clock.schedule}. */
export interface ScheduleOptions {
  /** Whether the process stays alive for the call: somebody waits for it. @default false */
  readonly keepsAlive?: boolean;
}

/** Time, passed in so that tests can drive it. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. Used in names and records, never to order anything. */
  nowMs(): number;
  /** Time in milliseconds that never goes back. Used for every duration. */
  monotonicMs(): number;
  /** Calls `action` once, `delayMs` from now. */
  schedule(delayMs: number, action: () => void, options?: ScheduleOptions): Timer;
}
