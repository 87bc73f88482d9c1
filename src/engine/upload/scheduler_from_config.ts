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
import { type UploaderComponents, uploaderFromConfig } from "./uploader_from_config.ts";

/** Bound of the delays between attempts that grow. */
const RETRY_DELAY_MS_MAX = 10_000;

/**
 * Settings that concern when to upload, how often, and how change files are written.
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
  | "blockBytes"
  | "changeFileAgeMsMax"
  | "changeFileBytesMax"
  | "compression"
  | "inFlightBytesMax"
  | "persistDelayMs"
  | "persistGatherMs"
  | "persistSizeThresholdBytes"
  | "uploadAttemptsMax"
  | "uploadConcurrencyMax"
  | "uploadDeadlineMs"
  | "uploadRetryDelayMs"
  | "uploadRetryPolicy"
  | "uploadTimeoutMs"
>;

/**
 * What a scheduler is made of, besides its settings: a backend to write to, and who counts.
 *
 * @example
 * ```ts
 * import {
 *   openBackend,
 *   type SchedulerComponents,
 *   systemPorts,
 *   TaskChangelogRegistry,
 * } from "@tidemark/tidemark";
 *
 * const backend = openBackend("memory:");
 * const components: SchedulerComponents = {
 *   ...systemPorts(),
 *   backend,
 *   registry: new TaskChangelogRegistry({
 *     discard: (keys) => keys.forEach((key) => void backend.delete(key)),
 *   }),
 *   localRecovery: { backend: openBackend("memory:") },
 * };
 * console.assert(components.throttle === undefined);
 * ```
 */
export interface SchedulerComponents extends UploaderComponents {
  /** Counts what the job holds, tasks that are admitted already included. @default one for tasks alone */
  readonly throttle?: UploadThrottle;
}

/**
 * What a scheduler is made of that is given an uploader.
 *
 * @example
 * ```ts
 * import { type SchedulerParts, systemPorts } from "@tidemark/tidemark";
 *
 * const components: SchedulerParts = {
 *   ...systemPorts(),
 *   uploader: {
 *     canOverlap: false,
 *     upload: () => Promise.reject(new Error("nowhere to write to")),
 *     close: () => Promise.resolve(),
 *   },
 * };
 * console.assert(!components.uploader.canOverlap);
 * ```
 */
export interface SchedulerParts extends Ports {
  /** Writes the batches, to one place or to two. */
  readonly uploader: StateChangeUploader;
  /** Counts what the job holds, tasks that are admitted already included. @default one for tasks alone */
  readonly throttle?: UploadThrottle;
}

/**
 * Makes a scheduler that batches, retries and bounds what is in flight. Seed: `StateChangeUploadScheduler.fromConfig`.
 *
 * A job of a store has one already: its writers use it. This is for those who use the upload system by itself. What it
 * writes no store's catalog names, so its job must be of no store; {@link UploaderComponents.owner} says more.
 *
 * @param jobId Names the job's folder, and labels the metrics.
 * @param settings When to upload, how often to try, and how change files are written.
 * @param components A backend, or an uploader of your own.
 * @returns The scheduler, open. A drain ends the open change file; the backend stays open.
 * @throws {RangeError} Settings that do not go together.
 * @throws {TidemarkError} `invalid-name`
 *
 * @example
 * ```ts
 * import {
 *   DEFAULT_SETTINGS,
 *   openBackend,
 *   schedulerFromConfig,
 *   systemPorts,
 *   TaskChangelogRegistry,
 *   UploadTask,
 * } from "@tidemark/tidemark";
 *
 * const backend = openBackend("memory:"); // or a folder
 * const registry = new TaskChangelogRegistry({
 *   discard: (keys) => keys.forEach((key) => void backend.delete(key)),
 * });
 * await using scheduler = schedulerFromConfig("orders", DEFAULT_SETTINGS, {
 *   ...systemPorts(),
 *   backend,
 *   registry,
 *   localRecovery: { backend: openBackend("memory:") },
 * });
 *
 * const changes = new Uint8Array([130, 0, 65, 5]); // [0, h'05']
 * const changeSet = {
 *   writer: "totals",
 *   keyGroups: [0, 127] as const,
 *   epoch: 1,
 *   sequenceNumber: 0,
 *   firstOffset: 0,
 *   count: 1,
 *   keyGroupMin: 0,
 *   keyGroupMax: 0,
 *   byteLength: changes.length,
 *   chunks: [changes],
 * };
 * const [{ key, localKey }] = await new Promise<readonly { key: string; localKey?: string }[]>(
 *   (resolve, reject) =>
 *     scheduler.upload(new UploadTask([changeSet], resolve, (_numbers, error) => reject(error))),
 * );
 * console.assert((await backend.head(key))!.size > 0 && localKey === key);
 * console.assert(registry.trackedFiles === 1);
 * ```
 */
export function schedulerFromConfig(
  jobId: string,
  settings: UploadSettings,
  components: SchedulerComponents | SchedulerParts,
): StateChangeUploadScheduler {
  const { clock, logger, random, throttle } = components;
  const metrics = new UploadMetrics(components.metrics, jobId);
  const executor = new RetryingExecutor({ clock, logger }, {
    attemptsInFlightMax: settings.uploadConcurrencyMax,
  });
  const retryPolicy = retryPolicyOf(settings, random);
  const parts = { executor, retryPolicy, clock, logger, metrics, throttle };
  const uploader = "uploader" in components
    ? components.uploader
    : uploaderFromConfig(jobId, settings, components);
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
