/** The clock of an app that is given none. */
import type { Clock } from "../engine/port/clock.ts";

/** Time and timers as every runtime has them. */
export const AMBIENT_CLOCK: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  schedule(delayMs, action) {
    const timer: unknown = setTimeout(action, delayMs);
    // Nobody waits for it: the process may end before. On Deno it is a number.
    (timer as { unref?: () => void }).unref?.();
    return { cancel: () => clearTimeout(timer as number) };
  },
};
