/** Jobs, as their owner and as a reader see them. @module */
import type { KeyGroupRange } from "./change.ts";
import type { At } from "./at.ts";
import type {
  CheckpointAttempt,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  ResumeOptions,
  ResumeResult,
} from "./checkpoint.ts";
import type {
  CollectionOptions,
  CollectionReport,
  ObjectExplanation,
  RetentionPolicy,
} from "./collection.ts";
import type { RecoveryReport, VerifyOptions, VerifyReport } from "./report.ts";
import type { JobUsage } from "./usage.ts";
import type { ChangelogReader } from "./reader.ts";
import type { RestoreOptions, RestoreStream } from "./restore.ts";
import type { ReadStateOptions, StateContent, StateMetadata } from "./state.ts";
import type { WaitOptions } from "./wait.ts";
import type { Writer, WriterPosition } from "./writer.ts";

/**
 * What can be read of a job, beside its running owner: takes no lock, publishes nothing, and writes nothing but a lease
 * on what it is reading, so that no collection deletes it. Every call looks at what is in the store by then.
 *
 * @example
 * ```ts
 * import { type JobReader, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * await job.checkpoint({ identifier: "noon" });
 *
 * await using reader: JobReader = await store.reader("orders");
 * console.assert((await reader.checkpoints())[0].identifier === "noon");
 * for await (const { writer, offset } of reader.restore()) console.log(writer, offset);
 * ```
 */
export interface JobReader extends AsyncDisposable {
  /** The job's name. */
  readonly id: string;
  /**
   * Lists the published checkpoints, abandoned ones included. Seed: `list_checkpoints`.
   *
   * @returns The checkpoints, oldest first.
   * @throws {TidemarkError} `job-not-found`, `catalog-lost`, `unsupported-format`, `storage-unavailable`,
   * `storage-denied`
   */
  checkpoints(): Promise<CheckpointMetadata[]>;
  /**
   * Reads one checkpoint with its manifest.
   *
   * @param at A uuid, or `latest`.
   * @returns The checkpoint.
   * @throws {TidemarkError} `checkpoint-not-found`; `corrupt` when its manifest can't be read; and as
   * {@link JobReader.checkpoints}.
   */
  checkpointDetails(at: At): Promise<CheckpointDetails>;
  /**
   * How every writer stands: at the tail for the owner, at the newest checkpoint and tail on disk for a reader.
   *
   * @returns The positions, in order of name.
   * @throws {TidemarkError} `corrupt`, `changes-lost`; and as {@link JobReader.checkpoints}. Not for the owner.
   */
  writers(): Promise<WriterPosition[]>;
  /**
   * Reads changes back: exactly those of a checkpoint, or everything durable. Nothing is read before the iteration
   * begins.
   *
   * @param options What to read. @default {}
   * @returns The restore, which says itself what it throws.
   */
  restore(options?: RestoreOptions): RestoreStream;
  /**
   * Reads a state of a checkpoint. Every piece was checked before it is given out, and the iteration ends only when all
   * of it was whole. Nothing is read before the iteration begins.
   *
   * @param name The state's name.
   * @param options Of which checkpoint. @default {}
   * @returns Its content, in pieces of a block each.
   * @throws {TidemarkError} From the iteration: `checkpoint-not-found`, `state-not-found`; `corrupt`, `changes-lost`
   * when it can't be read whole; `snapshot-expired`; and as {@link JobReader.checkpoints}.
   * @throws The signal's reason.
   */
  readState(name: string, options?: ReadStateOptions): AsyncIterable<Uint8Array>;
  /**
   * Reads changes by where they lie: by persisted segment, by file, or several ranges in one go. Nothing is read before
   * an iteration begins.
   *
   * @returns The reader; close it, or hold it with `await using`.
   */
  changelogReader(): ChangelogReader;
  /**
   * Reads everything that the checkpoints and the tail need, checks every checksum, and that nothing is missing.
   *
   * @param options How much is read, and what stops it. @default {}
   * @returns What was read, and what is bad: problems are answered, not thrown.
   * @throws {TidemarkError} What keeps the whole from being read: `catalog-lost`, `storage-unavailable`,
   * `storage-denied`; for a reader a bad tail, too: `corrupt`, `changes-lost`, and `snapshot-expired`.
   * @throws The signal's reason.
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /**
   * Counts the room that the job takes.
   *
   * @param options What ends the wait. @default {}
   * @returns Bytes and objects, by kind and by checkpoint.
   * @throws {TidemarkError} `corrupt`, `changes-lost`: a manifest can't be read.
   */
  usage(options?: WaitOptions): Promise<JobUsage>;
  /**
   * Lets go of the job; the owner first makes everything durable, and waits for checkpoints that were begun before. One
   * of them is given up (`closed`) when the content of a state gives nothing for five seconds. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * A job that this process owns: the only one that may write to it. One that is taken over by another owner fails
 * what is under way as `fenced`, outcome `unknown`, and never acknowledges again.
 *
 * @example
 * ```ts
 * import { type Job, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job: Job = await store.job("orders", { fingerprint: 1n });
 * const { checkpoint } = await job.resume();
 * console.log("the source goes on after", checkpoint?.metadata ?? "nothing");
 *
 * const totals = job.writer("totals");
 * totals.append(0, new TextEncoder().encode("apples +3"));
 * const { uuid } = await job.checkpoint({ metadata: { line: 1 } });
 * console.assert((await job.checkpointDetails("latest")).uuid === uuid);
 * ```
 */
export interface Job extends JobReader {
  /** Identifies the pipeline's shape: 0 to 2^64 - 1. */
  readonly fingerprint: bigint;
  /** Counts the job's owners; each open and each resume takes a new one. */
  readonly epoch: number;
  /** Counts how often the pipeline has begun or resumed; the first is 1. */
  readonly run: number;
  /** What the open found and did. */
  readonly recovery: RecoveryReport;
  /**
   * The writer of this name; begun at offset 0 where it is missing. The same name gives the same writer, until the
   * next resume.
   *
   * @param id 1 to 128 of `A-Z a-z 0-9 . _ -`, neither starting nor ending with a dot.
   * @param options `keyGroups`: which key groups it takes. @default all, or those it was begun with
   * @returns The writer.
   * @throws {TidemarkError} `invalid-name`; `settings-conflict` when it has other key groups; `fenced`, `closed`
   * @throws {RangeError} Key groups that are not allowed.
   */
  writer(id: string, options?: { keyGroups?: KeyGroupRange }): Writer;
  /**
   * Ends a writer that goes away, where it stands: nothing is appended to it any more. The next published checkpoint
   * still holds its changes and says where it ends; those after it leave the writer out, as soon as no file of the tail
   * holds anything of it, and what it stored goes with the last checkpoint that needs it. Until that publish it is a
   * wish of this run: a crash or a resume forgets it. Once it is left out, a writer of that name begins at 0 again
   * after the next open or resume. Seed: a writer's `close`, but for what it stored.
   *
   * @param id The writer's name; one that has ended already stays as it is.
   * @throws {TidemarkError} `writer-not-found`; `fenced`, `closed`
   *
   * @example
   * ```ts
   * import { openStore } from "@tidemark/tidemark";
   *
   * await using store = await openStore("memory:");
   * const job = await store.job("orders");
   * for (const id of ["totals-0", "totals-1"]) job.writer(id).append(0, new Uint8Array([1]));
   * job.retireWriter("totals-1"); // one subtask is enough from now on
   * await job.checkpoint(); // the last that holds totals-1
   * await job.checkpoint();
   * console.assert((await job.checkpointDetails("latest")).writers.length === 1);
   * ```
   */
  retireWriter(id: string): void;
  /**
   * Makes a checkpoint of every writer's position at the time of the call: makes everything durable that was appended
   * before, then publishes. One at a time; others wait their turn. Seed: `Checkpointer::commit`.
   *
   * @param options Names, counts and metadata to keep with it. @default {}
   * @returns The checkpoint, once it is published: from then on it can be restored, and is `latest`.
   * @throws {TidemarkError} `checkpoint-exists` when its uuid was used before; `aborted` when it was given up;
   * `invalid-request` when metadata or identifier are too long; `too-many-checkpoints`;
   * `fenced`, `closed`; and what the storage answered: `storage-full`, `storage-unavailable`, `storage-denied`. With
   * outcome `unknown` it may have been published: list the checkpoints and look.
   * @throws {TidemarkError} Of states: `invalid-name`; `state-not-found`, `checkpoint-not-found`: one that is named is
   * not there.
   * @throws {TypeError} JSON can't hold the metadata, or an option is of the wrong type.
   * @throws {RangeError} A count is not from 0 to 2^64 - 1.
   * @throws What the content of a state throws.
   * @throws The signal's reason.
   */
  checkpoint(options?: CheckpointOptions): Promise<CheckpointMetadata>;
  /**
   * Writes a state object ahead of the checkpoint that is to have it: name it there as `{ written: uuid }`. One that no
   * checkpoint names is given up after an hour, and when the run ends. At most four are written at once.
   *
   * @param name 1 to 128 of `A-Z a-z 0-9 . _ -`, neither starting nor ending with a dot.
   * @param content All of it, or piece by piece.
   * @param options `signal`: stops it. @default {}
   * @returns The object, durable, but in no checkpoint yet.
   * @throws {TidemarkError} `invalid-name`; `invalid-request` when it is too large; `backpressure`; `fenced`, `closed`;
   * and what the storage answered.
   * @throws {TypeError} The content is none.
   * @throws What the content throws, and the signal's reason.
   */
  writeState(
    name: string,
    content: StateContent,
    options?: { signal?: AbortSignal },
  ): Promise<StateMetadata>;
  /**
   * Lists the checkpoints that are not published: those that are being made, and the last that this owner failed to
   * make. Seed: what is no part of `checkpoint_list` yet.
   *
   * @returns The attempts, oldest first.
   */
  unpublishedCheckpoints(): CheckpointAttempt[];
  /**
   * Gives up a checkpoint that is being made; whoever waits for it gets `aborted`. What it wrote goes with a collection.
   *
   * @param uuid The checkpoint, see {@link Job.unpublishedCheckpoints}.
   * @returns Whether it was given up: not when it is being published by then, or there is none.
   *
   * @example
   * ```ts
   * import { openStore, TidemarkError } from "@tidemark/tidemark";
   *
   * await using store = await openStore("memory:");
   * const job = await store.job("orders");
   * const uuid = "019fd0a0-0000-7000-8000-000000000001";
   * const making = job.checkpoint({ uuid }).then(() => "made", (error: TidemarkError) => error.code);
   * console.assert(job.abortCheckpoint(uuid) && await making === "aborted");
   * ```
   */
  abortCheckpoint(uuid: string): boolean;
  /**
   * Rewinds the job to where its pipeline starts again, and begins a new run. What was appended after that place is
   * no part of the job any more; appends in flight fail as `fenced`, outcome `unknown` (for `tail` they are waited
   * for). Older writer handles are fenced.
   *
   * @param options Where to start again. @default {}
   * @returns The new run, the checkpoint with its metadata, and where every writer goes on.
   * @throws {TidemarkError} `checkpoint-not-found`; `fingerprint-mismatch`; `fenced`, `closed`; `corrupt` when the
   * checkpoint's manifest can't be read; and what the storage answered. A resume that failed half-way closes the job:
   * open it again.
   * @throws The signal's reason.
   */
  resume(options?: ResumeOptions): Promise<ResumeResult>;
  /**
   * Removes the checkpoints that retention lets go, and the objects that nothing needs any more. A job does so in
   * passing after checkpoints, not more often than every 10 s. Seed: `gc_checkpoint`.
   *
   * @param options What stays besides, and whether only to look. @default {}
   * @returns What went and what stays, with the reason for each.
   * @throws {TidemarkError} `fenced`, `corrupt` (nothing is deleted while a manifest can't be read), `closed`
   */
  collect(options?: CollectionOptions): Promise<CollectionReport>;
  /**
   * Says of one object why it stays or goes. Seed: what `gc_startup` logs of each file.
   *
   * @param key Its key, whoever made it; or a checkpoint's uuid.
   * @param options As for the collection that it is asked about. @default {}
   * @returns What the next collection does with it, and why.
   * @throws {TidemarkError} As {@link Job.collect}.
   */
  explain(key: string, options?: CollectionOptions): Promise<ObjectExplanation>;
  /**
   * Deletes one checkpoint, whatever retention says, and what it alone needed; other checkpoints lose nothing by it.
   *
   * @param uuid The checkpoint.
   * @param options What ends the wait. @default {}
   * @returns What went and what stays, as of a collection.
   * @throws {TidemarkError} `checkpoint-not-found`; `checkpoint-in-use` when the job goes on from it, it is pinned, or
   * somebody reads it; and as {@link Job.collect}.
   *
   * @example
   * ```ts
   * import { openStore } from "@tidemark/tidemark";
   *
   * await using store = await openStore("memory:");
   * const job = await store.job("orders");
   * const { uuid } = await job.checkpoint();
   * await job.checkpoint();
   * console.assert((await job.deleteCheckpoint(uuid)).removed.includes(uuid));
   * ```
   */
  deleteCheckpoint(uuid: string, options?: WaitOptions): Promise<CollectionReport>;
  /** How many checkpoints stay. */
  readonly retention: RetentionPolicy;
  /**
   * Changes how many checkpoints stay.
   *
   * @param policy Counts and ages; takes the place of the one before as a whole.
   * @param options What ends the wait. @default {}
   * @throws {RangeError} A policy that is not allowed.
   * @throws {TidemarkError} `fenced`, `closed`; and what the storage answered.
   */
  setRetention(policy: RetentionPolicy, options?: WaitOptions): Promise<void>;
  /**
   * Keeps a checkpoint whatever retention says.
   *
   * @param uuid The checkpoint.
   * @param reason Why, for people. @default "pinned"
   * @param options What ends the wait. @default {}
   * @throws {TidemarkError} `checkpoint-not-found`; `fenced`, `closed`; and what the storage answered.
   */
  pin(uuid: string, reason?: string, options?: WaitOptions): Promise<void>;
  /**
   * Leaves a checkpoint to retention again.
   *
   * @param uuid The checkpoint.
   * @param options What ends the wait. @default {}
   * @throws {TidemarkError} `checkpoint-not-found`; `fenced`, `closed`; and what the storage answered.
   */
  unpin(uuid: string, options?: WaitOptions): Promise<void>;
  /**
   * Whether an append would be taken now, and a promise for when it would. It turns at `inFlightBytesMax` bytes that
   * are not durable. Seed: `AvailabilityProvider`.
   */
  readonly availability: { isAvailable(): boolean; whenAvailable(): Promise<void> };
}

/**
 * Options of {@link Store.job}.
 *
 * @example
 * ```ts
 * import { type JobOptions, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const options: JobOptions = { fingerprint: 0x5eedn };
 * console.assert((await store.job("orders", options)).fingerprint === 0x5eedn);
 * ```
 */
export interface JobOptions {
  /**
   * Identifies the pipeline's shape, 0 to 2^64 - 1; checkpoints of another fingerprint are not resumed from.
   * @default the job's own, 0n when it is new
   */
  fingerprint?: bigint;
  /** Whether to make the job where it is missing. @default true */
  create?: boolean;
  /** Whether to take the job from a live owner on this machine. @default false */
  takeOver?: boolean;
  /**
   * Whether to give the tail up, and go on from the newest checkpoint that is whole, when the job can't be recovered:
   * `head` or something of the tail is corrupt or missing. What is given up is logged as an error. @default false
   */
  fallback?: boolean;
}
