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
export { openStore, type OpenStoreOptions } from "./src/runtime/open_store.ts";
export { DEFAULT_SETTINGS, type StoreSettings } from "./src/engine/settings.ts";
export {
  type ErrorCode,
  type ErrorKind,
  type Outcome,
  TidemarkError,
  type TidemarkErrorOptions,
} from "./src/engine/errors.ts";
export { encodeChanges } from "./src/engine/format/change_input.ts";
export type { Logger, LogLevel } from "./src/engine/port/logger.ts";
export type {
  Counter,
  Gauge,
  Histogram,
  MetricLabels,
  Metrics,
} from "./src/engine/port/metrics.ts";
export type {
  Appender,
  GetOptions,
  LockOptions,
  ObjectInfo,
  OwnerLock,
  PinnedKey,
  PutOptions,
  StorageBackend,
  TemporaryInfo,
} from "./src/engine/storage/backend.ts";
export type {
  AppendAtOptions,
  AppendResult,
  At,
  Change,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  EncodedChanges,
  Job,
  JobOptions,
  JobReader,
  KeyGroupRange,
  PersistedSegment,
  PersistResult,
  Problem,
  RecoveryReport,
  RestoredChange,
  RestoredSlice,
  RestoreOptions,
  RestoreStream,
  RestoreTrailer,
  ResumeOptions,
  ResumeResult,
  Store,
  VerifyReport,
  Writer,
  WriterPosition,
} from "./src/engine/types.ts";
export { VERSION } from "./src/engine/version.ts";
