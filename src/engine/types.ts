/**
 * The engine's public shapes: what `mod.ts`, the HTTP app and the CLI speak of.
 * @module
 */

/** One change: a key group (-1 is metadata) and bytes. */
export interface Change {
  readonly keyGroup: number;
  readonly data: Uint8Array;
}

/** A range of key groups, both ends included. */
export type KeyGroupRange = readonly [from: number, to: number];

/** Changes that are already encoded: a CBOR sequence of `[keyGroup, bytes]` in preferred encoding, checked. */
export interface EncodedChanges {
  /** The bytes; owned by the engine from the call on. */
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly keyGroupMin: number;
  readonly keyGroupMax: number;
}

/** Where a checkpoint, restore or resume starts: the newest checkpoint, all that is durable, or a checkpoint by uuid. */
export type At = "latest" | "tail" | (string & Record<never, never>);

/** How a writer stands. */
export interface WriterPosition {
  readonly writer: string;
  readonly keyGroups: KeyGroupRange;
  /** Offset that the next change gets. */
  readonly nextOffset: number;
  /** Every change below it is durable. */
  readonly durableOffset: number;
  /** Sequence number of the active change set. */
  readonly sequenceNumber: number;
}

/** What a checkpoint is. Seed: `CheckpointMetadata`. */
export interface CheckpointMetadata {
  readonly uuid: string;
  readonly identifier?: string;
  readonly fingerprint: bigint;
  /** Bytes of the objects that the checkpoint needs. */
  readonly size: number;
  readonly steps?: bigint;
  readonly processedRecords?: bigint;
  /** The checkpoint that this one goes on from. */
  readonly parent?: string;
  readonly createdAtMs: number;
  readonly epoch: number;
  readonly run: number;
  /** Whether it is `head`: the checkpoint from which the tail goes on. */
  readonly isHead: boolean;
  /** Whether it is not an ancestor of `head`. */
  readonly isAbandoned: boolean;
}

/** A checkpoint with what stands in its manifest. */
export interface CheckpointDetails extends CheckpointMetadata {
  readonly metadata: unknown;
  readonly writers: readonly {
    readonly writer: string;
    readonly keyGroups: KeyGroupRange;
    readonly nextOffset: number;
    readonly sequenceNumber: number;
  }[];
  readonly files: readonly { readonly key: string; readonly length: number }[];
}

/** Options of {@link Job.checkpoint}. */
export interface CheckpointOptions {
  /** A name for people. @default none */
  identifier?: string;
  /** @default none */
  steps?: bigint;
  /** @default none */
  processedRecords?: bigint;
  /** JSON that belongs to the checkpoint, such as source offsets; at most 64 KiB. @default none */
  metadata?: unknown;
  /** Stops waiting; the checkpoint may still be published. @default never */
  signal?: AbortSignal;
}

/** Options of {@link Job.resume}. */
export interface ResumeOptions {
  /** @default "latest" */
  at?: At;
  /** Fingerprints, besides the job's own, that the checkpoint may have. @default [] */
  acceptFingerprints?: readonly bigint[];
}

/** Where a pipeline starts again. */
export interface ResumeResult {
  readonly run: number;
  readonly epoch: number;
  /** The checkpoint it starts from, with its metadata; undefined when it starts from nothing. */
  readonly checkpoint?: CheckpointDetails;
  readonly writers: readonly {
    readonly writer: string;
    readonly nextOffset: number;
    readonly sequenceNumber: number;
  }[];
}

/** Options of {@link JobReader.restore}. */
export interface RestoreOptions {
  /** @default "latest" */
  at?: At;
  /** Which writers. @default all */
  writers?: readonly string[];
  /** Which key groups, metadata (-1) only when it lies in the range. @default all */
  keyGroups?: KeyGroupRange;
  /** First offset, of every writer. @default 0 */
  from?: number;
  /** Stops the restore. @default never */
  signal?: AbortSignal;
}

/** A change that restore returns. */
export interface RestoredChange extends Change {
  readonly writer: string;
  readonly offset: number;
}

/** Encoded changes of one writer that lie next to each other. Valid until the next one is asked for. */
export interface RestoredSlice {
  readonly writer: string;
  /** Offset of the first change in it; with a key-group filter the offsets of the others are not known from it. */
  readonly firstOffset: number;
  readonly count: number;
  /** A CBOR sequence of `[keyGroup, bytes]`. */
  readonly bytes: Uint8Array;
}

/** Ends a restore, so that a cut one is never taken for whole. */
export interface RestoreTrailer {
  readonly count: number;
  /** XXH64 of all bytes of the encoded changes, in hex. */
  readonly hash: string;
  /**
   * How many of the changes are known to stay: all of a checkpoint's, and of an owner's tail; of a tail read beside its
   * owner those that are proven to be on disk.
   */
  readonly confirmed: number;
}

/** A restore in progress: iterate it once, by change or by slice; the trailer is there at the end. */
export interface RestoreStream extends AsyncIterable<RestoredChange> {
  /** The same restore as encoded slices: the fast way. */
  slices(): AsyncIterable<RestoredSlice>;
  /** Settles when the iteration has ended, and rejects when it failed. */
  readonly trailer: Promise<RestoreTrailer>;
}

/** Something that was found bad. */
export interface Problem {
  /** The object's key. */
  readonly key: string;
  readonly reason: string;
  /** Byte range of what is bad, where that is known. */
  readonly from?: number;
  readonly to?: number;
}

/** What `verify` answers. */
export interface VerifyReport {
  readonly ok: boolean;
  readonly checkpoints: number;
  readonly files: number;
  readonly bytes: number;
  readonly changes: number;
  readonly problems: readonly Problem[];
}

/** What an open found and did. */
export interface RecoveryReport {
  /** Change sets taken over from older epochs. */
  readonly adoptedSets: number;
  readonly adoptedChanges: number;
  /** Batches that were copied into a file of the new epoch, as what can be read need not be on disk. */
  readonly copiedBatches: number;
  /** Torn ends, with byte range and reason. None of it was ever acknowledged. */
  readonly torn: readonly Problem[];
  readonly warnings: readonly string[];
}

/** What `appendAt` answers. */
export interface AppendResult {
  /** Offset of the first change of this append. */
  readonly offset: number;
  readonly nextOffset: number;
  readonly sequenceNumber: number;
  readonly ack: "durable" | "buffered";
  /** False when the changes were appended before, and can no longer be compared: they were truncated. */
  readonly verified?: false;
}

/** Options of {@link Writer.appendAt}. */
export interface AppendAtOptions {
  /** Whether to wait until the changes are durable. @default "durable" */
  ack?: "durable" | "buffered";
  /** The pipeline's run; required with an offset as soon as the job was resumed once. @default none */
  run?: number;
  /** Stops waiting for durability; the changes stay appended. @default never */
  signal?: AbortSignal;
}

/** What `persist` answers: every change set of `[from, next)` is durable. */
export interface PersistResult {
  readonly from: number;
  /** Sequence number that the next change set gets. */
  readonly next: number;
  /** Every change below it is durable. */
  readonly durableOffset: number;
  /** Where its change sets lie, in order; those that a published checkpoint owns are left out. */
  readonly segments: readonly PersistedSegment[];
}

/** Where a persisted change set lies. */
export interface PersistedSegment {
  readonly sequenceNumber: number;
  /** Key of the change file. */
  readonly key: string;
  /** Number of the batch in the file. */
  readonly batch: number;
  /** Bytes of the set's encoded changes. */
  readonly byteLength: number;
}

/** One ordered changelog of a job. */
export interface Writer {
  readonly id: string;
  readonly keyGroups: KeyGroupRange;
  readonly nextOffset: number;
  readonly durableOffset: number;

  /** Appends one change; answers its offset. Synchronous: copies the bytes, writes nothing. @throws `backpressure`, `closed`, `fenced`, `change-too-large` */
  append(keyGroup: number, data: Uint8Array): number;
  /** Appends metadata: key group -1. */
  appendMeta(data: Uint8Array): number;
  /** Appends many changes as one unit; answers the offset of the first. Takes over `changes.bytes` without a copy. */
  appendEncoded(changes: EncodedChanges): number;
  /**
   * Appends at an expected offset, so that a repeated append is taken once (`expected` undefined: at the end).
   * @throws `offset-mismatch`, `offset-conflict`, `run-required`, `fenced`, `backpressure`
   */
  appendAt(
    expected: number | undefined,
    changes: EncodedChanges,
    options?: AppendAtOptions,
  ): Promise<AppendResult>;
  /** Waits until every change set of `[from, active)` is durable. @default from: the first one not below the published base */
  persist(from?: number): Promise<PersistResult>;
  /** Rolls the active change set over, unless it is empty; answers the number of the next one. */
  nextSequenceNumber(): number;
  /**
   * Gives up what lies below a change set, with the next published checkpoint: the pipeline holds it elsewhere.
   *
   * @param to A number that `nextSequenceNumber` or a checkpoint of this run gave.
   */
  truncate(to: number): void;
  /**
   * Ends the writer at a change set, with the next published checkpoint: what lies at or above it is given up, and
   * nothing is appended any more.
   *
   * @param from A number that `nextSequenceNumber` or a checkpoint of this run gave.
   */
  truncateAndClose(from: number): void;
}

/** What can be read of a job. */
export interface JobReader extends AsyncDisposable {
  readonly id: string;
  /** Published checkpoints, oldest first. */
  checkpoints(): Promise<CheckpointMetadata[]>;
  /** One checkpoint with its manifest: a uuid or `latest`. @throws `checkpoint-not-found` */
  checkpointDetails(at: At): Promise<CheckpointDetails>;
  /** How every writer stands: at the tail for the owner, at the newest checkpoint and tail on disk for a reader. */
  writers(): Promise<WriterPosition[]>;
  /** Reads changes back. */
  restore(options?: RestoreOptions): RestoreStream;
  /** Reads everything that the checkpoints need and checks every checksum. */
  verify(options?: { signal?: AbortSignal }): Promise<VerifyReport>;
  close(): Promise<void>;
}

/** A job that this process owns. */
export interface Job extends JobReader {
  readonly fingerprint: bigint;
  readonly epoch: number;
  readonly run: number;
  readonly recovery: RecoveryReport;
  /** The writer of this name; begun where it is missing. */
  writer(id: string, options?: { keyGroups?: KeyGroupRange }): Writer;
  /** Makes a checkpoint of every writer's position. One at a time; others wait their turn. */
  checkpoint(options?: CheckpointOptions): Promise<CheckpointMetadata>;
  /** Rewinds the job to where its pipeline starts again. Older writer handles are fenced. */
  resume(options?: ResumeOptions): Promise<ResumeResult>;
  /** Whether an append would be taken now, and a promise for when it would. */
  readonly availability: { isAvailable(): boolean; whenAvailable(): Promise<void> };
}

/** Options of {@link Store.job}. */
export interface JobOptions {
  /** Identifies the pipeline's shape; checkpoints of another fingerprint are not resumed from. @default 0n, or the job's own */
  fingerprint?: bigint;
  /** Whether to make the job where it is missing. @default true */
  create?: boolean;
  /** Whether to take the job from a live owner on this machine. @default false */
  takeOver?: boolean;
}

/** A store, open. */
export interface Store extends AsyncDisposable {
  readonly id: string;
  readonly location: string;
  /** Whether this open made the store. */
  readonly isNew: boolean;
  /** Names of the jobs in it. */
  jobs(): Promise<string[]>;
  /** Opens a job as its owner. The same job opened twice is the same object. @throws `read-only` in a store opened for reading */
  job(id: string, options?: JobOptions): Promise<Job>;
  /** Opens a job for reading, beside a running owner. @throws `job-not-found` */
  reader(id: string): Promise<JobReader>;
  close(): Promise<void>;
}
