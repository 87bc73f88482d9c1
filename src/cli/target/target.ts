/**
 * What a command works on: a job in a store of this machine, or in a sidecar's.
 * @module
 */
import type {
  AppendResult,
  At,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  DeleteJobOptions,
  EncodedChanges,
  ExportJobOptions,
  ImportJobOptions,
  JobDeletion,
  JobImport,
  JobStanding,
  JobUsage,
  KeyGroupRange,
  ObjectExplanation,
  RestoreTrailer,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  SalvageOptions,
  SalvageReport,
  StoreStatus,
  VerifyOptions,
  VerifyReport,
  WriterPosition,
} from "../../engine/types.ts";

/** Where an append belongs. */
export interface AppendPlace {
  /** Expected offset; at the end where it is left out. */
  readonly offset?: number;
  readonly run?: number;
}

/** What to restore. */
export interface RestoreWish {
  readonly at?: string;
  readonly from?: number;
  readonly keyGroups?: KeyGroupRange;
  readonly fallback?: boolean;
}

/** A restore under way. */
export interface TargetRestore {
  /** Encoded changes; each piece is valid until the next one is asked for. */
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly trailer: Promise<RestoreTrailer>;
}

/** Whether a command makes what is missing. */
export type OpenFor = "append" | "own";

/** A job, here or elsewhere, to be written to. */
export interface Target extends AsyncDisposable {
  /** Appends at a writer; waits while there is no room, and until the changes are durable. */
  append(writer: string, changes: EncodedChanges, place: AppendPlace): Promise<AppendResult>;
  writers(): Promise<readonly WriterPosition[]>;
  /** The pipeline's run. */
  run(): Promise<number>;
  checkpoint(options: CheckpointOptions): Promise<CheckpointMetadata>;
  resume(options: ResumeOptions): Promise<ResumeResult>;
  collect(options: CollectionOptions): Promise<CollectionReport>;
  explain(key: string, options: CollectionOptions): Promise<ObjectExplanation>;
  deleteCheckpoint(uuid: string): Promise<CollectionReport>;
  /** Ends a writer with the next published checkpoint. */
  retireWriter(writer: string): Promise<unknown>;
  /** Gives up what a writer holds by now, with the next published checkpoint; answers where it begins. */
  truncateWriter(writer: string): Promise<number>;
  pin(uuid: string, reason: string | undefined): Promise<unknown>;
  unpin(uuid: string): Promise<unknown>;
  retention(): Promise<RetentionPolicy>;
  setRetention(policy: RetentionPolicy): Promise<void>;
}

/** A job, here or elsewhere, to be read: beside whoever owns it. */
export interface ReadTarget extends AsyncDisposable {
  restore(writer: string, wish: RestoreWish): Promise<TargetRestore>;
  /** The content of a checkpoint's state; the iteration ends only when all of it was whole. */
  readState(name: string, at: At): AsyncIterable<Uint8Array>;
  checkpoints(): Promise<CheckpointMetadata[]>;
  writers(): Promise<readonly WriterPosition[]>;
  checkpointDetails(at: At): Promise<CheckpointDetails>;
  usage(): Promise<JobUsage>;
  verify(options: VerifyOptions): Promise<VerifyReport>;
}

/** Where a job stands; a sidecar does not say who has it, as it has it itself, nor how its files are. */
export type Standing =
  & Pick<JobStanding, "epoch" | "run" | "head" | "owner">
  & Partial<Pick<JobStanding, "generation" | "changeBytes">>;

/** How a store is, and what serves it. */
export interface StoreSummary extends Omit<StoreStatus, "jobs"> {
  /** The store's uuid. */
  readonly id: string;
  readonly location: string;
  /** Version of what reads it. */
  readonly version: string;
  readonly formatVersion: number;
  /** Of a sidecar: since when it serves. */
  readonly uptimeMs?: number;
  /** Of a sidecar: jobs that it has open. To look at another one would make it its owner. */
  readonly openJobs?: StoreStatus["jobs"];
}

/** A store, here or at a sidecar, to be read. */
export interface ReadStore extends AsyncDisposable {
  /** Where it is, for people. */
  readonly location: string;
  jobs(): Promise<string[]>;
  /** How the store is, and what serves it. */
  summary(): Promise<StoreSummary>;
  /** Where a job stands, and who has it. */
  standing(job: string): Promise<Standing>;
  reader(job: string): Promise<ReadTarget>;
}

/** A store, here or at a sidecar, of which whole jobs are worked on. */
export interface StoreTarget extends AsyncDisposable {
  /** Where it is, for people. */
  readonly location: string;
  salvage(job: string, options: SalvageOptions): Promise<SalvageReport>;
  deleteJob(job: string, options: DeleteJobOptions): Promise<JobDeletion>;
  /** The job as one archive; ends only when all of it came. */
  exportJob(job: string, options: ExportJobOptions): AsyncIterable<Uint8Array>;
  importJob(
    job: string,
    archive: AsyncIterable<Uint8Array>,
    options: ImportJobOptions,
  ): Promise<JobImport>;
}

/** A job that is made to be measured, and goes with all that is in it. */
export interface BenchTarget extends AsyncDisposable {
  /** Where it is, for people. */
  readonly place: string;
  readonly target: Target;
  readonly reader: ReadTarget;
  /** The folder of this machine that it is in. */
  readonly folder?: string;
  readonly bytesFree?: number;
}
