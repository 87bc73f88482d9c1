/**
 * The engine's public shapes: what `mod.ts`, the HTTP app and the CLI speak of.
 * @module
 */
export type { ExportJobOptions, ImportJobOptions, JobImport } from "./types/archive.ts";
export type { Change, EncodedChanges, KeyGroupRange } from "./types/change.ts";
export type { At } from "./types/at.ts";
export type {
  CheckpointAttempt,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  ResumeOptions,
  ResumeResult,
} from "./types/checkpoint.ts";
export type {
  CheckpointVerdict,
  CollectedObject,
  CollectionOptions,
  CollectionReport,
  ObjectExplanation,
  RetentionPolicy,
} from "./types/collection.ts";
export type { DeleteJobOptions, JobDeletion } from "./types/deletion.ts";
export type { Job, JobOptions, JobReader } from "./types/job.ts";
export type {
  OffsetRange,
  Problem,
  Progress,
  RecoveryReport,
  VerifyOptions,
  VerifyReport,
} from "./types/report.ts";
export type { ChangelogReader, ChangeRange, RangedSlice, ReadOptions } from "./types/reader.ts";
export type {
  RestoredChange,
  RestoredSlice,
  RestoreOptions,
  RestoreStream,
  RestoreTrailer,
} from "./types/restore.ts";
export type {
  LostChanges,
  LostCheckpoint,
  SalvagedCheckpoint,
  SalvageOptions,
  SalvageReport,
} from "./types/salvage.ts";
export type { ReadStateOptions, StateContent, StateMetadata, StateSource } from "./types/state.ts";
export type { CheckpointUsage, JobUsage, UsageOfKind } from "./types/usage.ts";
export type { OpenJobStatus, StatusProblem, StoreStatus } from "./types/status.ts";
export type { JobOwner, JobStanding } from "./types/standing.ts";
export type { Store } from "./types/store.ts";
export type { WaitOptions } from "./types/wait.ts";
export type {
  AppendAtOptions,
  AppendResult,
  PersistedSegment,
  PersistResult,
  Writer,
  WriterPosition,
} from "./types/writer.ts";
