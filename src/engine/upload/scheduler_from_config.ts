/**
 * Makes a job's scheduler as its settings say. Seed: `StateChangeUploadScheduler.fromConfig`.
 * Owns: which setting goes where. Does not own: any of the parts.
 * @module
 */
import type { Ports } from "../port/ports.ts";
import type { Random } from "../port/random.ts";
import type { StoreSettings } from "../settings.ts";
import { BatchingStateChangeUploadScheduler } from "./batching_scheduler.ts";
import { RetryPolicy } from "./retry_policy.ts";
import { RetryingExecutor } from "./retrying_executor.ts";
import type { StateChangeUploadScheduler } from "./scheduler.ts";
import { UploadMetrics } from "./upload_metrics.ts";
import type { UploadThrottle } from "./upload_throttle.ts";
import type { StateChangeUploader } from "./uploader.ts";

/** Bound of the delays between attempts that grow. */
const RETRY_DELAY_MS_MAX = 10_000;

/**
 * Settings that concern when to upload, and how often.
 *
 * @example
 * ```ts
 * import { DEFAULT_SETTINGS, type UploadSettings } from "@tidemark/tidemark";
 *
 * const settings: UploadSettings = { ...DEFAULT_SETTINGS, persistDelayMs: 50 };
 * console.assert(settings.uploadAttemptsMax === 3);
 * ```
 */
export type UploadSettings = Pick<
  StoreSettings,
  | "inFlightBytesMax"
  | "persistDelayMs"
  | "persistSizeThresholdBytes"
  | "uploadAttemptsMax"
  | "uploadConcurrencyMax"
  | "uploadDeadlineMs"
  | "uploadRetryDelayMs"
  | "uploadRetryPolicy"
  | "uploadTimeoutMs"
>;

/**
 * What a scheduler is made of, besides its settings.
 *
 * @example
 * ```ts
 * import { NO_METRICS, type SchedulerComponents, SILENT_LOGGER } from "@tidemark/tidemark";
 *
 * const components: SchedulerComponents = {
 *   clock: { nowMs: () => 0, monotonicMs: () => 0, schedule: () => ({ cancel() {} }) }, // stands still
 *   random: { fill: (bytes) => void crypto.getRandomValues(bytes) },
 *   logger: SILENT_LOGGER,
 *   metrics: NO_METRICS,
 *   uploader: {
 *     canOverlap: false,
 *     upload: () => Promise.reject(new Error("nowhere to write to")),
 *     close: () => Promise.resolve(),
 *   },
 * };
 * console.assert(components.throttle === undefined);
 * ```
 */
export interface SchedulerComponents extends Ports {
  /** Writes the batches, to one place or to two. */
  readonly uploader: StateChangeUploader;
  /** Counts what the job holds, tasks that are admitted already included. @default one for tasks alone */
  readonly throttle?: UploadThrottle;
}

/**
 * Makes a job's scheduler. Seed: `StateChangeUploadScheduler.fromConfig`.
 *
 * @param jobId Labels the metrics.
 * @param settings When to upload, and how often to try.
 * @param components What it is made of.
 * @returns The scheduler, open.
 * @throws {RangeError} Settings that do not go together.
 *
 * @example
 * ```ts
 * import { DEFAULT_SETTINGS, NO_METRICS, schedulerFromConfig, SILENT_LOGGER } from "@tidemark/tidemark";
 *
 * await using scheduler = schedulerFromConfig("orders", DEFAULT_SETTINGS, {
 *   clock: { nowMs: () => 0, monotonicMs: () => 0, schedule: () => ({ cancel() {} }) },
 *   random: { fill: (bytes) => void crypto.getRandomValues(bytes) },
 *   logger: SILENT_LOGGER,
 *   metrics: NO_METRICS,
 *   uploader: {
 *     canOverlap: false,
 *     upload: () => Promise.reject(new Error("nowhere to write to")),
 *     close: () => Promise.resolve(),
 *   },
 * });
 * console.assert(scheduler.availability.isAvailable() && !scheduler.isUploading);
 * ```
 */
export function schedulerFromConfig(
  jobId: string,
  settings: UploadSettings,
  components: SchedulerComponents,
): StateChangeUploadScheduler {
  const { clock, logger, random, uploader, throttle } = components;
  const metrics = new UploadMetrics(components.metrics, jobId);
  const executor = new RetryingExecutor({ clock, logger }, {
    attemptsInFlightMax: settings.uploadConcurrencyMax,
  });
  const retryPolicy = retryPolicyOf(settings, random);
  const parts = { executor, retryPolicy, clock, logger, metrics, throttle };
  return new BatchingStateChangeUploadScheduler(uploader, settings, parts);
}

/**
 * The policy that the settings name.
 *
 * @param random Draws the delays of `exponential`.
 */
export function retryPolicyOf(
  settings: Pick<
    UploadSettings,
    | "uploadRetryPolicy"
    | "uploadTimeoutMs"
    | "uploadAttemptsMax"
    | "uploadRetryDelayMs"
    | "uploadDeadlineMs"
  >,
  random: Random,
): RetryPolicy {
  const { uploadRetryPolicy, uploadTimeoutMs, uploadAttemptsMax, uploadRetryDelayMs } = settings;
  switch (uploadRetryPolicy) {
    case "none":
      return RetryPolicy.none();
    case "fixed":
      return RetryPolicy.fixed(uploadAttemptsMax, uploadTimeoutMs, uploadRetryDelayMs);
    case "exponential":
      return RetryPolicy.exponential({
        attemptsMax: uploadAttemptsMax,
        timeoutMs: uploadTimeoutMs,
        delayMsMin: uploadRetryDelayMs,
        delayMsMax: Math.max(uploadRetryDelayMs, RETRY_DELAY_MS_MAX),
        deadlineMs: settings.uploadDeadlineMs,
        random,
      });
  }
}
