/** The clock of an app that is given none. */
import type { Clock } from "../engine/port/clock.ts";

/** Time and timers as every runtime has them. */
export const AMBIENT_CLOCK: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
