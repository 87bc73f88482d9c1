/**
 * A job that this process owns.
 * Owns: the order of appends, checkpoints, resumes and close. Does not own: how each of them works.
 * @module
 */
import { jobIsClosed, jobIsDeleted, resumeFailed, runIsOver } from "./_job_errors.ts";
import { offsetsOf } from "./changelog/offset_ranges.ts";
import type { NeededFile } from "./changelog/tail.ts";
import { listCheckpoints, toDetails } from "./checkpoint/checkpoint_list.ts";
import { orAborted, unlessAborted } from "./checkpoint/or_aborted.ts";
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import type { Attempt } from "./checkpoint/checkpoint_attempts.ts";
import type { Checkpointer, CheckpointNotes } from "./checkpoint/checkpointer.ts";
import { fenced, isFenced, type OwnerKey } from "./checkpoint/owner_key.ts";
import { filesOfManifest, writersOfManifest } from "./checkpoint/restore_source.ts";
import { type StateSources, takeStates } from "./checkpoint/state_objects.ts";
import { TidemarkError } from "./errors.ts";
import type { CatalogEntry } from "./format/generation.ts";
import type { ManifestBody } from "./format/manifest.ts";
import type { OpenedJob } from "./job_open.ts";
import { JobCollection } from "./job_collection.ts";
import { type CommitOptions, JobCommit } from "./job_commit.ts";
import { JobReads } from "./job_reads.ts";
import { JobRun } from "./job_run.ts";
import { droppedByResume, planResume } from "./job_resume.ts";
import type { CodecThread } from "./port/codec_thread.ts";
import type { Ports } from "./port/ports.ts";
import type { StoreSettings } from "./settings.ts";
import type {
  At,
  ChangelogReader,
  CheckpointAttempt,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  Job,
  JobUsage,
  KeyGroupRange,
  ObjectExplanation,
  OpenJobStatus,
  ReadStateOptions,
  RecoveryReport,
  RestoreOptions,
  RestoreStream,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  StateContent,
  StateMetadata,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
  Writer,
  WriterPosition,
} from "./types.ts";
import { beginUploads, type JobUploads } from "./job_uploads.ts";
import type { LocalRecovery } from "./upload/local_recovery.ts";
import type { AvailabilityProvider } from "./upload/upload_throttle.ts";

/** What an owned job is made of. */
export interface OwnedJobOptions {
  readonly place: JobPlace;
  readonly settings: StoreSettings;
  readonly ports: Ports;
  readonly opened: OpenedJob;
  /** Makes local copies. @default none are made */
  readonly local?: LocalRecovery;
  /** What large batches are encoded on. @default this thread */
  readonly codecThread?: CodecThread;
  /** Called once, when the job has let go of everything. */
  readonly onClosed: () => void;
}

/** A job, open for writing. */
export class OwnedJob implements Job {
  readonly recovery: RecoveryReport;
  readonly availability: AvailabilityProvider = {
    isAvailable: () => this.#run.throttle.isAvailable(),
    whenAvailable: () => this.#run.throttle.whenAvailable(),
  };
  readonly #options: OwnedJobOptions;
  readonly #checkpointer: Checkpointer;
  #run: JobRun;
  /** Checkpoints, resumes and close, one after another. */
  #queue: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Resumes under way: between two runs the job still serves. */
  #resuming = 0;
  readonly #collection: JobCollection;
  readonly #commits: JobCommit;
  readonly #reads: JobReads;

  constructor(options: OwnedJobOptions) {
    this.#options = options;
    const { checkpointer, report, tail, owner, uploads, carried } = options.opened;
    this.#checkpointer = checkpointer;
    this.#collection = new JobCollection(options.place, options.ports, checkpointer);
    this.#commits = new JobCommit(options.place, options.ports, checkpointer);
    this.#reads = new JobReads({
      place: options.place,
      logger: options.ports.logger,
      checkpointer,
      collection: this.#collection,
      run: () => this.#run,
    });
    this.recovery = report;
    this.#run = this.#begin({ owner, uploads, carried, start: tail.writers });
    this.#publishAsRun();
  }

  get id(): string {
    return this.#options.place.keys.job;
  }

  /** Whether the job still serves: not closed, fenced, or left half-way by a resume. */
  get isRunning(): boolean {
    return this.#closing === undefined && (this.#resuming > 0 || this.#run.isRunning);
  }

  get epoch(): number {
    return this.#run.epoch;
  }

  get run(): number {
    return this.#run.run;
  }

  get fingerprint(): bigint {
    return this.#checkpointer.newest.fingerprint;
  }

  writer(id: string, options: { keyGroups?: KeyGroupRange } = {}): Writer {
    return this.#run.writer(id, options.keyGroups);
  }

  retireWriter(id: string): void {
    this.#run.retireWriter(id);
  }

  writers(): Promise<WriterPosition[]> {
    return Promise.resolve(this.#run.writers.map((writer) => writer.position));
  }

  checkpoints(): Promise<CheckpointMetadata[]> {
    return Promise.resolve(listCheckpoints(this.#checkpointer.newest));
  }

  async checkpointDetails(at: At): Promise<CheckpointDetails> {
    const generation = this.#checkpointer.newest;
    const read = () => this.#commits.manifestAt(at);
    return toDetails(generation, await this.#collection.holding(generation, read));
  }

  async checkpoint(given: CheckpointOptions = {}): Promise<CheckpointMetadata> {
    const { signal } = given;
    signal?.throwIfAborted();
    const run = this.#run;
    run.checkUsable();
    run.checkRun(given.run, { required: false });
    const notes = this.#checkpointer.checkOptions(given);
    const states = takeStates(given.states);
    const { idempotency } = notes;
    if (idempotency === undefined) {
      return await orAborted(this.#makeCheckpoint(run, notes, states, given), signal);
    }
    const find = ({ uuid }: CatalogEntry) => {
      run.checkOwner();
      return this.#listed(uuid);
    };
    const make = () => this.#makeCheckpoint(run, notes, states, given);
    const made = this.#commits.once({ idempotency, states, run, signal }, { find, make });
    return await orAborted(made, signal);
  }

  #makeCheckpoint(
    run: JobRun,
    notes: CheckpointNotes,
    states: StateSources,
    { signal, onProgress }: CheckpointOptions,
  ): Promise<CheckpointMetadata> {
    run.checkUsable();
    const attemptUuid = this.#commits.uuidOf(notes);
    // Now, not when its turn comes: what the caller says of it is about what was appended before the call.
    const position = run.rollOver();
    const makeRoom = () => this.#collect({ quarantineMs: 0 });
    const commit = { ...notes, attemptUuid, position, states, onProgress, makeRoom };
    const committed = this.#commits.attempts.make(
      { uuid: attemptUuid, identifier: notes.identifier, given: signal },
      (attempt) => this.#exclusive(() => this.#commit(run, commit, attempt)),
    );
    return this.#checkpointer.metrics.measure(committed);
  }

  #listed(uuid: string): CheckpointMetadata {
    return listCheckpoints(this.#checkpointer.newest).find((one) => one.uuid === uuid)!;
  }

  unpublishedCheckpoints(): CheckpointAttempt[] {
    return this.#commits.attempts.list;
  }

  abortCheckpoint(uuid: string): boolean {
    return this.#commits.attempts.abort(uuid);
  }

  async #commit(
    run: JobRun,
    options: CommitOptions,
    attempt: Attempt,
  ): Promise<CheckpointMetadata> {
    const { uuid } = await this.#asOwner(run, () => this.#commits.commit(run, options, attempt));
    this.#collectInPassing();
    return this.#listed(uuid);
  }

  /**
   * Runs what only the owner may do, on a catalog of which everything is decided; who finds that the job has another
   * owner ends its run.
   */
  async #asOwner<Result>(run: JobRun, action: () => Promise<Result>): Promise<Result> {
    run.checkUsable();
    try {
      await this.#commits.settle();
      const result = await action();
      run.checkOwner();
      return result;
    } catch (error) {
      if (isFenced(error) && run.isRunning) run.end(error);
      throw error;
    }
  }

  resume(options: ResumeOptions = {}): Promise<ResumeResult> {
    return unlessAborted(() => this.#resume(options), options.signal);
  }

  async #resume(options: ResumeOptions): Promise<ResumeResult> {
    const { acceptFingerprints = [] } = options;
    this.#checkOpen();
    const old = this.#run;
    old.checkUsable();
    if (this.#checkpointer.isUndecided) await this.#exclusive(() => this.#commits.settle());
    const at = await this.#reads.chooseWhole(options.at ?? "latest", options.fallback);
    const plan = planResume(this.#checkpointer.newest, at, acceptFingerprints);
    // What can't be read must not end the run.
    const { entry } = plan;
    if (entry !== undefined) {
      const read = () => this.#checkpointer.readManifest(entry);
      await this.#collection.holding({ checkpoints: [entry] }, read);
    }
    this.#checkOpen();
    this.#resuming += 1;
    try {
      // A checkpoint in preparation fails with its run, so that a resume never waits for it.
      if (plan.at !== "tail") old.end(runIsOver(this.id, old.run));
      return await this.#exclusive(() => this.#resumeAt(old, at, acceptFingerprints));
    } finally {
      this.#resuming -= 1;
    }
  }

  /** Who finds that the job has another owner ends the run. */
  #publishAsRun(): void {
    const run = this.#run;
    this.#checkpointer.publishAs({ check: () => run.checkKey() });
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw jobIsClosed(this.id);
  }

  async #resumeAt(
    old: JobRun,
    at: At,
    acceptFingerprints: readonly bigint[],
  ): Promise<ResumeResult> {
    if (old !== this.#run) throw runIsOver(this.id, old.run);
    await this.#commits.settle();
    if (at === "tail") await old.persistAll();
    old.end(runIsOver(this.id, old.run));
    let owner: OwnerKey | undefined;
    try {
      const plan = planResume(this.#checkpointer.newest, at, acceptFingerprints);
      const manifest = plan.entry && await this.#checkpointer.readManifest(plan.entry);
      const ends = offsetsOf(old.writers.map(({ position }) => position));
      const dropped = plan.at === "tail"
        ? []
        : await droppedByResume(this.#checkpointer, manifest, ends);
      if (!old.log.isWriting) await old.log.seal();
      owner = await old.owner.takeNext();
      if (owner === undefined) throw fenced(this.id, old.epoch);
      await old.owner.close();
      this.#checkpointer.publishAs(owner);
      this.#run = plan.at === "tail"
        ? await this.#beginAtTail(old, owner)
        : await this.#beginAtCheckpoint(owner, manifest);
      this.#publishAsRun();
      this.#run.checkOwner();
      this.#options.local?.retain(this.#run.keysInUse());
      return { ...await this.#resumed(manifest), dropped };
    } catch (error) {
      this.#run.end(isFenced(error) ? error : resumeFailed(this.id, error));
      await owner?.close();
      throw error;
    }
  }

  async #beginAtTail(old: JobRun, owner: OwnerKey): Promise<JobRun> {
    const tail = { files: old.durableFiles(), writers: old.resumedEnds() };
    await this.#checkpointer.publishResume(owner.epoch, { tail });
    return this.#begin({ owner, carried: tail.files, start: tail.writers });
  }

  async #beginAtCheckpoint(owner: OwnerKey, manifest: ManifestBody | undefined): Promise<JobRun> {
    await this.#checkpointer.publishResume(owner.epoch, { head: manifest?.uuid ?? null });
    return this.#begin({
      owner,
      carried: manifest === undefined ? [] : filesOfManifest(manifest),
      start: manifest === undefined ? new Map() : writersOfManifest(manifest),
    });
  }

  async #resumed(
    manifest: ManifestBody | undefined,
  ): Promise<Omit<ResumeResult, "dropped">> {
    const { run, epoch } = this.#run;
    const writers = (await this.writers()).map(({ writer, nextOffset, sequenceNumber }) => (
      { writer, nextOffset, sequenceNumber }
    ));
    if (manifest === undefined) return { run, epoch, writers };
    return { run, epoch, writers, checkpoint: toDetails(this.#checkpointer.newest, manifest) };
  }

  restore(options?: RestoreOptions): RestoreStream {
    return this.#reads.restore(options);
  }

  readState(name: string, options?: ReadStateOptions): AsyncIterable<Uint8Array> {
    return this.#reads.readState(name, options);
  }

  changelogReader(): ChangelogReader {
    return this.#reads.changelogReader();
  }

  usage(options?: WaitOptions): Promise<JobUsage> {
    return this.#reads.usage(options);
  }

  verify(options?: VerifyOptions): Promise<VerifyReport> {
    return this.#reads.verify(options);
  }

  async writeState(
    name: string,
    content: StateContent,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<StateMetadata> {
    const run = this.#run;
    run.checkUsable();
    return await run.states.write(name, content, signal);
  }

  collect(options: CollectionOptions = {}): Promise<CollectionReport> {
    return this.#inTurn((run) => this.#collection.collect(options, run), options);
  }

  explain(key: string, options: CollectionOptions = {}): Promise<ObjectExplanation> {
    return this.#inTurn((run) => this.#collection.explain(key, options, run), options);
  }

  deleteCheckpoint(uuid: string, options?: WaitOptions): Promise<CollectionReport> {
    return this.#inTurn((run) => this.#collection.deleteCheckpoint(uuid, run), options);
  }

  pin(uuid: string, reason = "pinned", options?: WaitOptions): Promise<void> {
    return this.#inTurn(() => this.#checkpointer.publishPin(uuid, reason), options);
  }

  unpin(uuid: string, options?: WaitOptions): Promise<void> {
    return this.#inTurn(() => this.#checkpointer.publishPin(uuid, null), options);
  }

  get retention(): RetentionPolicy {
    return this.#checkpointer.newest.retention;
  }

  setRetention(policy: RetentionPolicy, options?: WaitOptions): Promise<void> {
    return this.#inTurn(() => this.#checkpointer.publishRetention(policy), options);
  }

  /** Runs what only the owner may do, after what was asked for before. */
  #inTurn<Result>(
    action: (run: JobRun) => Promise<Result>,
    { signal }: WaitOptions = {},
  ): Promise<Result> {
    const begin = () => this.#asOwner(this.#run, () => action(this.#run));
    return unlessAborted(() => this.#exclusive(begin), signal);
  }

  #collect(options: CollectionOptions): Promise<CollectionReport> {
    const run = this.#run;
    return this.#asOwner(run, () => this.#collection.collect(options, run));
  }

  /** Collects after a checkpoint, not too often; what fails is tried again after another. */
  #collectInPassing(): void {
    if (!this.#collection.isDue) return;
    this.#exclusive(() => this.#collect({})).catch((error) =>
      this.#options.ports.logger.log("warning", "Cannot collect", { job: this.id, error })
    );
  }

  /** How it is, for whoever watches it. */
  get status(): OpenJobStatus {
    const { epoch, run, ended } = this.#run;
    const about = { job: this.id, epoch, run, isServing: this.isRunning };
    if (about.isServing || ended === undefined) return about;
    const code = ended instanceof TidemarkError ? ended.code : "internal";
    return { ...about, problem: { code, message: ended.message } };
  }

  /** Whether something restores or verifies the job now. */
  get isRead(): boolean {
    return this.#collection.isRead;
  }

  /** Closes the job, and makes nothing durable any more: it is being deleted. */
  abandon(): Promise<void> {
    this.#run.end(jobIsDeleted(this.id));
    return this.close();
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#exclusive(() => this.#close());
      this.#run.states.close();
    }
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Makes everything durable, and lets go of everything, whatever of it fails. */
  async #close(): Promise<void> {
    const run = this.#run;
    const failures: unknown[] = [];
    const steps = [
      () => run.isRunning ? run.drain() : run.checkNothingLost(),
      () => run.end(jobIsClosed(this.id)),
      () => run.log.close(),
      () => this.#checkpointer.metrics.close(),
      () => this.#options.local?.close(),
      () => run.owner.close(),
      () => this.#options.opened.lock?.close(),
    ];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    this.#options.onClosed();
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `Cannot close job ${this.id}`);
  }

  /** Runs an action after those before it, whether they succeeded or not. */
  #exclusive<Result>(action: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(action, action);
    this.#queue = result.then(() => undefined, () => undefined);
    return result;
  }

  #begin(
    { owner, uploads, carried, start }: Pick<OpenedJob, "owner" | "carried"> & {
      readonly uploads?: JobUploads;
      readonly start: OpenedJob["tail"]["writers"];
    },
  ): JobRun {
    const { place, settings, ports } = this.#options;
    const { run } = this.#checkpointer.newest;
    return new JobRun({
      place,
      owner,
      run,
      settings,
      ports,
      start,
      carried: carried as readonly NeededFile[],
      uploads: uploads ?? beginUploads({ ...this.#options, epoch: owner.epoch, run }),
      readStored: (writer, from, to) => this.#reads.readStored(writer, from, to),
    });
  }
}
