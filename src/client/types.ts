/**
 * The client's public shapes. What they share with the engine has the engine's names, so that moving from the library
 * to a sidecar is a change of imports.
 * @module
 */
import type {
  AppendAtOptions,
  AppendResult,
  Change,
  CheckpointAttempt,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  EncodedChanges,
  JobReader,
  ObjectExplanation,
  PersistResult,
  RecoveryReport,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  StateContent,
  StateMetadata,
  WaitOptions,
  WriterPosition,
} from "../engine/types.ts";
import type { AvailabilityProvider } from "../engine/upload/upload_throttle.ts";

/**
 * A job as the sidecar describes it.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type JobDescription, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const described: JobDescription = await client.createJob("orders", { fingerprint: 7n });
 * console.assert(described.run === 1 && described.head === null);
 * ```
 */
export interface JobDescription {
  /** The job's name. */
  readonly job: string;
  /** Identifies the pipeline's shape: 0 to 2^64 - 1. */
  readonly fingerprint: bigint;
  /** Counts the job's owners. */
  readonly epoch: number;
  /** The pipeline's run. */
  readonly run: number;
  /** Whether the sidecar would take an append now. */
  readonly isAvailable: boolean;
  /** The checkpoint that the writers go on from; null when there is none. */
  readonly head: string | null;
  /** How many checkpoints there are. */
  readonly checkpoints: number;
  /** How every writer stands. */
  readonly writers: readonly WriterPosition[];
  /** How many checkpoints stay. */
  readonly retention: RetentionPolicy;
  /** What opening the job found and did. */
  readonly recovery: RecoveryReport;
}

/**
 * Options of {@link TidemarkClient.job}.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type RemoteJobOptions, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const options: RemoteJobOptions = { create: false };
 * const code = await client.job("none", options).resume().then(() => "", (error) => error.code);
 * console.assert(code === "job-not-found");
 * ```
 */
export interface RemoteJobOptions {
  /**
   * Identifies the pipeline's shape, 0 to 2^64 - 1; looked at before the job is first used.
   * @default the job's own, 0n when it is new
   */
  fingerprint?: bigint;
  /** Whether to make the job where it is missing, when it is first used. @default true */
  create?: boolean;
}

/**
 * Options of {@link TidemarkClient.createJob}.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type CreateJobOptions, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const options: CreateJobOptions = { retention: { minCount: 5 } };
 * console.assert((await client.createJob("orders", options)).retention.minCount === 5);
 * ```
 */
export interface CreateJobOptions extends WaitOptions {
  /** Identifies the pipeline's shape, 0 to 2^64 - 1. @default the job's own, 0n when it is new */
  fingerprint?: bigint;
  /** How many checkpoints stay; takes the place of what was there. @default what was there */
  retention?: RetentionPolicy;
}

/**
 * Options of {@link RemoteJob.checkpoint}: the engine's, without its progress, and the run is the job's. Without an
 * `idempotencyKey` the client makes one.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type RemoteCheckpointOptions, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const options: RemoteCheckpointOptions = { identifier: "noon", metadata: { line: 12 } };
 * console.assert((await client.job("orders").checkpoint(options)).identifier === "noon");
 * ```
 */
export type RemoteCheckpointOptions = Omit<CheckpointOptions, "onProgress" | "run">;

/**
 * What of a sidecar's job can be read: as the engine's `JobReader`, over HTTP.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type RemoteJobReader, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const job = client.job("orders");
 * job.writer("totals").append(0, new TextEncoder().encode("apples +3"));
 * await job.checkpoint();
 *
 * const reader: RemoteJobReader = client.reader("orders");
 * for await (const { writer, offset } of reader.restore()) console.log(writer, offset);
 * console.assert((await reader.checkpoints()).length === 1);
 * ```
 */
export interface RemoteJobReader extends Omit<JobReader, "changelogReader"> {
  /**
   * Describes the job.
   *
   * @param options What ends the wait. @default {}
   * @returns The job as the sidecar has it.
   * @throws {TidemarkError} `job-not-found`; and what opening the job can throw.
   */
  describe(options?: WaitOptions): Promise<JobDescription>;
}

/**
 * One writer of a job, within one run: after a {@link RemoteJob.resume} it throws `fenced`, and is to be asked for
 * again. Appends are gathered into batches, each sent at its offset until it is durable: a batch whose answer is lost is
 * sent again, and taken once. One process appends to a writer at a time.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type RemoteWriter, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const totals: RemoteWriter = client.job("orders").writer("totals");
 * totals.append(0, new TextEncoder().encode("apples +3"));
 * totals.append(0, new TextEncoder().encode("pears +1"));
 * console.assert((await totals.persist()).durableOffset === 2);
 * ```
 */
export interface RemoteWriter {
  /** Its name. */
  readonly id: string;
  /** Offset that the next change gets; undefined until the client knows where the writer began: a resume says so. */
  readonly nextOffset: number | undefined;
  /** Every change below it is durable; undefined as {@link RemoteWriter.nextOffset} is. */
  readonly durableOffset: number | undefined;
  /**
   * Appends one change. Synchronous: copies the bytes, and sends them soon.
   *
   * @param keyGroup -1 (metadata), or 0 to 2^31 - 1.
   * @param data The bytes.
   * @returns The change's offset; undefined as {@link RemoteWriter.nextOffset} is.
   * @throws {RangeError} A key group that is none.
   * @throws {TidemarkError} `change-too-large`; `backpressure` when the job holds too much that is not durable, see
   * {@link RemoteJob.availability}; `fenced`, `closed`, `offset-conflict`, `offset-mismatch` and what else ended the
   * writer. Nothing was taken then.
   */
  append(keyGroup: number, data: Uint8Array): number | undefined;
  /**
   * Appends metadata: a change of key group -1.
   *
   * @param data The bytes.
   * @returns As {@link RemoteWriter.append}.
   * @throws {TidemarkError} As {@link RemoteWriter.append}.
   */
  appendMeta(data: Uint8Array): number | undefined;
  /**
   * Appends many changes as one unit: they are durable together, or none of them.
   *
   * @param changes In order; together at most `bodyBytesMax`.
   * @returns The offset of the first.
   * @throws {RangeError} A key group that is none.
   * @throws {TidemarkError} As {@link RemoteWriter.append}.
   */
  appendBatch(changes: Iterable<Change>): number | undefined;
  /**
   * Appends many changes as one unit: they are durable together, or none of them.
   *
   * @param changes Their bytes must not be changed any more.
   * @returns The offset of the first.
   * @throws {TidemarkError} As {@link RemoteWriter.append}.
   */
  appendEncoded(changes: EncodedChanges): number | undefined;
  /**
   * Appends at an expected offset, in a request of its own: past what {@link RemoteWriter.append} gathers, for whoever
   * keeps the offsets himself.
   *
   * @param expected Offset of the first change; undefined: at the end, and then a lost answer is not repeated.
   * @param changes At most `bodyBytesMax`.
   * @param options What to wait for, and which run. @default {}
   * @returns Where the changes lie.
   * @throws {TidemarkError} As the engine's `Writer.appendAt`; `server-unreachable`.
   * @throws The signal's reason.
   */
  appendAt(
    expected: number | undefined,
    changes: EncodedChanges,
    options?: AppendAtOptions,
  ): Promise<AppendResult>;
  /**
   * Sends what was appended, and waits until it is durable.
   *
   * @param options What ends the wait; what is under way goes on. @default {}
   * @returns Where the durable part ends.
   * @throws {TidemarkError} `server-unreachable`, `backpressure`, `storage-full`, `storage-unavailable` and the like,
   * when it took longer than `retryDeadlineMs`: nothing is lost, the same call may be made again. `fenced`,
   * `offset-conflict`, `offset-mismatch`, `closed`: the writer has ended; resume.
   * @throws The signal's reason.
   */
  persist(options?: WaitOptions): Promise<{ readonly durableOffset: number }>;
  /**
   * Persists, and tells where the durable change sets lie.
   *
   * @param from Sequence number of the first change set. @default the first that is not durable
   * @param options What ends the wait. @default {}
   * @returns As the engine's `Writer.persist`.
   * @throws {TidemarkError} As {@link RemoteWriter.persist}; `writer-not-found` while nothing was appended.
   */
  segments(from?: number, options?: WaitOptions): Promise<PersistResult>;
  /**
   * Persists, and ends the change set that is active, so that what was appended before can be given up.
   *
   * @param options What ends the wait. @default {}
   * @returns Sequence number of the change set that is active now.
   * @throws {TidemarkError} As {@link RemoteWriter.persist}; `writer-not-found` while nothing was appended.
   */
  nextSequenceNumber(options?: WaitOptions): Promise<number>;
  /**
   * Gives up what lies below a change set, with the next published checkpoint: the pipeline holds it elsewhere, such as
   * in a state of that checkpoint.
   *
   * @param to A number that {@link RemoteWriter.nextSequenceNumber} or a checkpoint of this run gave.
   * @param options What ends the wait. @default {}
   * @throws {TidemarkError} `invalid-request`: it is no such number; `writer-not-found`, `fenced`, `closed`
   */
  truncate(to: number, options?: WaitOptions): Promise<void>;
}

/**
 * A job of a sidecar, as its pipeline uses it: as the engine's `Job`, over HTTP. Nothing is sent before it is used.
 *
 * @example A pipeline that loses nothing and counts nothing twice
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { type RemoteJob, TidemarkClient } from "@tidemark/tidemark/client";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:"); // a sidecar within this process
 * await using client = new TidemarkClient("http://sidecar", { fetch: createApp(store).fetch });
 * const job: RemoteJob = client.job("orders");
 *
 * const { checkpoint } = await job.resume();
 * const state: string[] = [];
 * if (checkpoint !== undefined) {
 *   for await (const { data } of job.restore({ at: checkpoint.uuid })) {
 *     state.push(new TextDecoder().decode(data));
 *   }
 * }
 * const { line = 0 } = (checkpoint?.metadata ?? {}) as { line?: number };
 * const source = ["apples +3", "pears +1"];
 * for (const text of source.slice(line)) {
 *   job.writer("totals").append(0, new TextEncoder().encode(text));
 * }
 * await job.checkpoint({ metadata: { line: source.length } });
 * console.assert((await job.checkpoints()).length === 1);
 * ```
 */
export interface RemoteJob extends RemoteJobReader {
  /** The run that this client takes part in; undefined until it knows. */
  readonly run: number | undefined;
  /**
   * Whether an append would be taken now, and a promise for when it would. It turns at `inFlightBytesMax` bytes that
   * are not durable. The promise rejects when nothing could be made durable for `retryDeadlineMs`.
   */
  readonly availability: AvailabilityProvider;
  /**
   * The writer of this name. The same name gives the same writer, until the next resume.
   *
   * @param id 1 to 128 of `A-Z a-z 0-9 . _ -`, neither starting nor ending with a dot.
   * @returns The writer; the first append begins it.
   * @throws {TidemarkError} `invalid-name`; `fenced`, `closed` and what else ended the run.
   */
  writer(id: string): RemoteWriter;
  /**
   * Rewinds the job to where its pipeline starts again, and begins a new run. Older writers of this handle end at once,
   * those of other processes are `fenced`. One whose answer is lost is repeated: another run begins then.
   *
   * @param options Where to start again. @default {}
   * @returns The new run, the checkpoint with its metadata, and where every writer goes on.
   * @throws {TidemarkError} As the engine's `Job.resume`; `server-unreachable`. Resume again then.
   * @throws The signal's reason.
   */
  resume(options?: ResumeOptions): Promise<ResumeResult>;
  /**
   * Makes a checkpoint of exactly what was appended before the call: sends that first, and what is appended meanwhile
   * only afterwards. One whose answer is lost is asked for again, and made once. One at a time; others wait.
   *
   * @param options Names, counts and metadata to keep with it. @default {}
   * @returns The checkpoint, once it is published.
   * @throws {TidemarkError} As {@link RemoteWriter.persist}, and as the engine's `Job.checkpoint`. With outcome
   * `unknown` it may have been made, and the run is over: resume, which tells, and goes on from there.
   * @throws {TypeError} JSON can't hold the metadata.
   * @throws The signal's reason: once it was sent it goes on, and later appends wait until it is over. With a `uuid`
   * {@link RemoteJob.abortCheckpoint} gives it up.
   */
  checkpoint(options?: RemoteCheckpointOptions): Promise<CheckpointMetadata>;
  /**
   * Gives up a checkpoint that is being made.
   *
   * @param uuid The checkpoint.
   * @param options What ends the wait. @default {}
   * @returns Whether it was given up: not when it is being published by then, or there is none.
   */
  abortCheckpoint(uuid: string, options?: WaitOptions): Promise<boolean>;
  /**
   * Lists the checkpoints that are not published.
   *
   * @param options What ends the wait. @default {}
   * @returns The attempts, oldest first.
   */
  unpublishedCheckpoints(options?: WaitOptions): Promise<CheckpointAttempt[]>;
  /**
   * Writes a state object ahead of the checkpoint that is to have it: name it there as `{ written: uuid }`.
   *
   * @param name 1 to 128 of `A-Z a-z 0-9 . _ -`, neither starting nor ending with a dot.
   * @param content All of it, or piece by piece: then a lost answer is not repeated.
   * @param options What stops it. @default {}
   * @returns The object, durable, but in no checkpoint yet.
   * @throws {TidemarkError} As the engine's `Job.writeState`; `server-unreachable`.
   * @throws The signal's reason.
   */
  writeState(name: string, content: StateContent, options?: WaitOptions): Promise<StateMetadata>;
  /**
   * Ends a writer with the next published checkpoint, see the engine's `Job.retireWriter`. What was appended to it is
   * sent first.
   *
   * @param id The writer's name.
   * @param options What ends the wait. @default {}
   * @returns Where it ends.
   * @throws {TidemarkError} `writer-not-found`; `fenced`, `closed`
   */
  retireWriter(id: string, options?: WaitOptions): Promise<WriterPosition>;
  /**
   * Removes the checkpoints that retention lets go, and what nothing needs. A lost answer is not repeated.
   *
   * @param options What stays besides, and whether only to look. @default {}
   * @returns What went and what stays, with the reason for each.
   * @throws {TidemarkError} As the engine's `Job.collect`; `server-unreachable`.
   */
  collect(options?: CollectionOptions): Promise<CollectionReport>;
  /**
   * Says of one object, or a checkpoint, why it stays or goes.
   *
   * @param key The object's key; or a checkpoint's uuid.
   * @param options As for the collection that it is asked about. @default {}
   * @returns What the next collection does with it, and why.
   */
  explain(key: string, options?: Omit<CollectionOptions, "dryRun">): Promise<ObjectExplanation>;
  /**
   * Deletes one checkpoint, whatever retention says. A lost answer is not repeated.
   *
   * @param uuid The checkpoint.
   * @param options What ends the wait. @default {}
   * @returns What went and what stays.
   * @throws {TidemarkError} `checkpoint-not-found`, `checkpoint-in-use`
   */
  deleteCheckpoint(uuid: string, options?: WaitOptions): Promise<CollectionReport>;
  /**
   * Keeps a checkpoint whatever retention says.
   *
   * @param uuid The checkpoint.
   * @param reason Why, for people. @default "pinned"
   * @param options What ends the wait. @default {}
   * @returns The checkpoint.
   * @throws {TidemarkError} `checkpoint-not-found`
   */
  pin(uuid: string, reason?: string, options?: WaitOptions): Promise<CheckpointMetadata>;
  /**
   * Leaves a checkpoint to retention again.
   *
   * @param uuid The checkpoint.
   * @param options What ends the wait. @default {}
   * @returns The checkpoint.
   * @throws {TidemarkError} `checkpoint-not-found`
   */
  unpin(uuid: string, options?: WaitOptions): Promise<CheckpointMetadata>;
  /**
   * How many checkpoints stay.
   *
   * @param options What ends the wait. @default {}
   * @returns The policy.
   */
  retention(options?: WaitOptions): Promise<RetentionPolicy>;
  /**
   * Changes how many checkpoints stay.
   *
   * @param policy Counts and ages; takes the place of the one before as a whole.
   * @param options What ends the wait. @default {}
   * @throws {TidemarkError} `invalid-request`: a policy that is not allowed.
   */
  setRetention(policy: RetentionPolicy, options?: WaitOptions): Promise<void>;
  /**
   * Sends what was appended, waits until it is durable, and ends this handle's writers. Idempotent.
   *
   * @param options A signal that gives the wait up. @default {}
   * @throws {TidemarkError} What kept something that was appended from being made durable, unless that was told before.
   * @throws The signal's reason.
   */
  close(options?: WaitOptions): Promise<void>;
}
