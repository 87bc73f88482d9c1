/**
 * Tidemark keeps the state of data pipelines safe: append state changes, persist them in batches, commit checkpoints,
 * and after a crash get back exactly what was acknowledged.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { run, checkpoint, writers } = await job.resume();
 * console.log(run, checkpoint?.metadata, writers);
 *
 * const totals = job.writer("totals");
 * totals.append(0, new TextEncoder().encode("apples +3"));
 * await totals.persist();
 * await job.checkpoint({ metadata: { sourceOffset: 1 } });
 * ```
 *
 * @module
 */
export { openBackend, type OpenBackendOptions } from "./src/runtime/open_backend.ts";
export { openStore, type OpenStoreOptions } from "./src/runtime/open_store.ts";
export { systemPorts, type SystemPortsOptions } from "./src/runtime/system_ports.ts";
export { DEFAULT_SETTINGS, type StoreSettings } from "./src/engine/settings.ts";
export {
  type ErrorCode,
  type ErrorKind,
  type Outcome,
  TidemarkError,
  type TidemarkErrorOptions,
} from "./src/engine/errors.ts";
export { encodeChanges } from "./src/engine/format/change_input.ts";
export type { ChangeSet, ChangeSetFacts } from "./src/engine/format/change_set.ts";
export type { Clock, ScheduleOptions, Timer } from "./src/engine/port/clock.ts";
export { type Logger, type LogLevel, SILENT_LOGGER } from "./src/engine/port/logger.ts";
export {
  type Counter,
  type Gauge,
  type Histogram,
  type MetricLabels,
  type Metrics,
  NO_METRICS,
} from "./src/engine/port/metrics.ts";
export type { Ports } from "./src/engine/port/ports.ts";
export type { Random } from "./src/engine/port/random.ts";
export type {
  Appender,
  DeleteOptions,
  FailedDelete,
  GetOptions,
  LockOptions,
  ObjectInfo,
  OwnerLock,
  PinnedKey,
  PutOptions,
  StorageBackend,
  StorageSpace,
  TemporaryInfo,
} from "./src/engine/storage/backend.ts";
export type {
  AppendAtOptions,
  AppendResult,
  At,
  Change,
  ChangelogReader,
  ChangeRange,
  CheckpointAttempt,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CheckpointUsage,
  CheckpointVerdict,
  CollectedObject,
  CollectionOptions,
  CollectionReport,
  DeleteJobOptions,
  EncodedChanges,
  ExportJobOptions,
  ImportJobOptions,
  Job,
  JobDeletion,
  JobImport,
  JobOptions,
  JobOwner,
  JobReader,
  JobStanding,
  JobUsage,
  KeyGroupRange,
  LostChanges,
  LostCheckpoint,
  ObjectExplanation,
  OffsetRange,
  OpenJobStatus,
  PersistedSegment,
  PersistResult,
  Problem,
  Progress,
  RangedSlice,
  ReadOptions,
  ReadStateOptions,
  RecoveryReport,
  RestoredChange,
  RestoredSlice,
  RestoreOptions,
  RestoreStream,
  RestoreTrailer,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  SalvagedCheckpoint,
  SalvageOptions,
  SalvageReport,
  StateContent,
  StateMetadata,
  StateSource,
  StatusProblem,
  Store,
  StoreStatus,
  UsageOfKind,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
  Writer,
  WriterPosition,
} from "./src/engine/types.ts";
export {
  type BatchingSchedulerComponents,
  type BatchingSchedulerOptions,
  BatchingStateChangeUploadScheduler,
} from "./src/engine/upload/batching_scheduler.ts";
export type { AppendBatchOptions, BatchLog, BatchPlace } from "./src/engine/upload/batch_log.ts";
export {
  BoundedDeleter,
  type BoundedDeleterComponents,
  type BoundedDeleterOptions,
} from "./src/engine/upload/bounded_deleter.ts";
export type { ChangeFileFollower, FollowedFile } from "./src/engine/upload/change_file_follower.ts";
export type { ChangeFileSettings } from "./src/engine/upload/change_file_log.ts";
export type { Deleter } from "./src/engine/upload/deleter.ts";
export { directScheduler } from "./src/engine/upload/direct_scheduler.ts";
export {
  DuplicatingStateChangeFsUploader,
  type LocalCopyKeeper,
} from "./src/engine/upload/duplicating_uploader.ts";
export {
  type FsUploaderComponents,
  StateChangeFsUploader,
} from "./src/engine/upload/fs_uploader.ts";
export { LocalChangelogRegistry } from "./src/engine/upload/local_changelog_registry.ts";
export {
  AttemptTimeoutError,
  type ExponentialRetryOptions,
  RetryPolicy,
} from "./src/engine/upload/retry_policy.ts";
export {
  type Attempt,
  type ExecuteOptions,
  RetryingExecutor,
  type RetryingExecutorOptions,
  type RetryingExecutorPorts,
} from "./src/engine/upload/retrying_executor.ts";
export type {
  SchedulerCloseOptions,
  StateChangeUploadScheduler,
} from "./src/engine/upload/scheduler.ts";
export {
  type SchedulerComponents,
  schedulerFromConfig,
  type SchedulerParts,
  type UploadSettings,
} from "./src/engine/upload/scheduler_from_config.ts";
export { TaskChangelogRegistry } from "./src/engine/upload/task_changelog_registry.ts";
export { type UploadGauges, UploadMetrics } from "./src/engine/upload/upload_metrics.ts";
export {
  type UploadResult,
  UploadTask,
  type UploadTaskOptions,
  type UploadTasksResult,
} from "./src/engine/upload/upload_task.ts";
export {
  type AvailabilityProvider,
  type RequestUploadOptions,
  type RoomRequest,
  UploadThrottle,
  type UploadThrottleOptions,
} from "./src/engine/upload/upload_throttle.ts";
export type { StateChangeUploader, UploadOptions } from "./src/engine/upload/uploader.ts";
export {
  type LocalRecoveryConfig,
  type UploaderComponents,
  uploaderFromConfig,
  type UploadOwner,
} from "./src/engine/upload/uploader_from_config.ts";
export { VERSION } from "./src/engine/version.ts";
