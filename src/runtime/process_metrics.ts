/** What a process counts about itself, whatever it does. @module */
import process from "node:process";
import type { Clock, Timer } from "../engine/port/clock.ts";
import type { Metrics } from "../engine/port/metrics.ts";
import { VERSION } from "../engine/version.ts";
import { systemProcessInfo } from "./process_info.ts";
import { SystemClock } from "./system_clock.ts";

/** Milliseconds between two looks at the event loop. */
const LOOK_INTERVAL_MS = 250;
const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10];

/** Counts about this process until `close`. */
export interface ProcessMetrics {
  close(): void;
}

/**
 * Begins to count; never keeps the process alive.
 *
 * @param clock Looks at the event loop. @default the machine's
 */
export function observeProcess(
  metrics: Metrics,
  clock: Clock = new SystemClock(),
): ProcessMetrics {
  const labels = { version: VERSION, runtime: systemProcessInfo().runtime };
  const gauges = [
    metrics.gauge("tidemark_info", "Version and runtime, in labels", () => 1, labels),
    metrics.gauge(
      "tidemark_uptime_seconds",
      "Time since the process began",
      () => process.uptime(),
      {},
    ),
    metrics.gauge(
      "tidemark_resident_memory_bytes",
      "Memory of the process in RAM",
      () => process.memoryUsage().rss,
      {},
    ),
  ];
  const delays = metrics.histogram(
    "tidemark_event_loop_delay_seconds",
    "How much too late a timer fired, looked at four times a second",
    SECONDS,
    {},
  );
  let timer = look();
  function look(): Timer {
    const dueMs = clock.monotonicMs() + LOOK_INTERVAL_MS;
    return clock.schedule(LOOK_INTERVAL_MS, () => {
      delays.record(Math.max(0, clock.monotonicMs() - dueMs) / 1000);
      timer = look();
    });
  }
  return {
    close: () => {
      timer.cancel();
      for (const gauge of gauges) gauge.remove();
    },
  };
}
