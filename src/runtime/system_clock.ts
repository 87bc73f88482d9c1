/** The machine's clock. @module */
import type { Clock, ScheduleOptions, Timer } from "../engine/port/clock.ts";

/** A {@link Clock} over the runtime's own time and timers. */
export class SystemClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  schedule(delayMs: number, action: () => void, options: ScheduleOptions = {}): Timer {
    const timer: unknown = setTimeout(action, delayMs);
    if (options.keepsAlive !== true) letProcessEnd(timer);
    return { cancel: () => clearTimeout(timer as number) };
  }
}

/** Node and Bun give an object with `unref`; Deno gives one too, or a number for its own `unrefTimer`. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer === "number") {
    (globalThis as unknown as { Deno: { unrefTimer(id: number): void } }).Deno.unrefTimer(timer);
  } else {
    (timer as { unref(): void }).unref();
  }
}
