/**
 * Uploads at once: a batching scheduler without delay, retries and bounds.
 * Owns: nothing of its own. Does not own: how to write.
 * @module
 */
import type { Clock } from "../port/clock.ts";
import { SILENT_LOGGER } from "../port/logger.ts";
import { NO_METRICS } from "../port/metrics.ts";
import { BatchingStateChangeUploadScheduler } from "./batching_scheduler.ts";
import { RetryPolicy } from "./retry_policy.ts";
import { RetryingExecutor } from "./retrying_executor.ts";
import type { StateChangeUploadScheduler } from "./scheduler.ts";
import { UploadMetrics } from "./upload_metrics.ts";
import type { StateChangeUploader } from "./uploader.ts";

/** Without delays and timeouts nobody asks for the time. */
const NO_CLOCK: Clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  schedule: () => ({ cancel() {} }),
};
const UNBOUNDED_BYTES = Number.MAX_SAFE_INTEGER;

/**
 * A scheduler that uploads at once, with no delay, retries or bound on memory: it is always available. While an upload
 * runs, tasks gather for the next one. Seed: `directScheduler`.
 *
 * @param uploader Writes the batches; closing the scheduler closes it.
 * @returns The scheduler, open.
 *
 * @example
 * ```ts
 * import { directScheduler, UploadTask } from "@tidemark/tidemark";
 *
 * await using scheduler = directScheduler({
 *   canOverlap: false,
 *   upload: (tasks) =>
 *     Promise.resolve({ successful: new Map(tasks.map((task) => [task, []])), failed: new Map() }),
 *   close: () => Promise.resolve(),
 * });
 * scheduler.upload(new UploadTask([], () => console.log("uploaded"), (_, error) => console.log(error)));
 * await scheduler.whenIdle();
 * console.assert(scheduler.availability.isAvailable());
 * ```
 */
export function directScheduler(uploader: StateChangeUploader): StateChangeUploadScheduler {
  const logger = SILENT_LOGGER;
  return new BatchingStateChangeUploadScheduler(uploader, {
    persistDelayMs: 0,
    persistSizeThresholdBytes: UNBOUNDED_BYTES,
    inFlightBytesMax: UNBOUNDED_BYTES,
  }, {
    executor: new RetryingExecutor({ clock: NO_CLOCK, logger }, { attemptsInFlightMax: 1 }),
    retryPolicy: RetryPolicy.none(),
    clock: NO_CLOCK,
    logger,
    metrics: new UploadMetrics(NO_METRICS, ""),
  });
}
