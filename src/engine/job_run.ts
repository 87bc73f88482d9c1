/**
 * One epoch of an owned job: its key, log, scheduler, memory counter and writers. A resume ends it and begins another.
 * Owns: what its writers share, and when they stop. Does not own: the catalog.
 * @module
 */
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import type { CheckpointPosition } from "./checkpoint/checkpointer.ts";
import type { OwnerKey } from "./checkpoint/owner_key.ts";
import { StateObjects } from "./checkpoint/state_objects.ts";
import type { NeededFile, WriterEnd } from "./changelog/tail.ts";
import { EndedWriters } from "./changelog/ended_writers.ts";
import { ChangelogWriter } from "./changelog/writer.ts";
import type { WriterContext } from "./changelog/writer_context.ts";
import { hasCode, TidemarkError } from "./errors.ts";
import type { JobUploads } from "./job_uploads.ts";
import { KEY_GROUP_MAX } from "./limits.ts";
import { checkName } from "./paths.ts";
import type { StoreSettings } from "./settings.ts";
import type { KeyGroupRange } from "./types.ts";
import type { ChangeFileLog, SetRange } from "./upload/change_file_log.ts";
import type { Clock, Timer } from "./port/clock.ts";
import { withLogFields } from "./log_fields.ts";
import type { Logger } from "./port/logger.ts";
import type { Ports } from "./port/ports.ts";
import { DuplicatingStateChangeFsUploader } from "./upload/duplicating_uploader.ts";
import { StateChangeFsUploader } from "./upload/fs_uploader.ts";
import type { LocalRecovery } from "./upload/local_recovery.ts";
import type { StateChangeUploadScheduler } from "./upload/scheduler.ts";
import { schedulerFromConfig } from "./upload/scheduler_from_config.ts";
import type { TaskChangelogRegistry } from "./upload/task_changelog_registry.ts";
import type { UploadMetrics } from "./upload/upload_metrics.ts";
import { UploadThrottle } from "./upload/upload_throttle.ts";

/** How often uploads are tried again while memory is short. */
const RELIEF_PERIOD_MS = 1000;

/** What an epoch of a job is made of. */
export interface JobRunOptions {
  readonly place: JobPlace;
  readonly owner: OwnerKey;
  readonly run: number;
  readonly uploads: JobUploads;
  readonly settings: StoreSettings;
  readonly ports: Ports;
  /** Where the writers go on from. */
  readonly start: ReadonlyMap<string, WriterEnd>;
  /** Files of older epochs that the tail and the next checkpoint need. */
  readonly carried: readonly NeededFile[];
  readonly readStored: WriterContext["readStored"];
}

/** Where a run stands, taken in one synchronous step. */
export interface RunPosition extends CheckpointPosition {
  /** Writers that are left out, since they have ended for good. */
  readonly leaving: ReadonlySet<string>;
}

/** One epoch of an owned job. */
export class JobRun implements WriterContext {
  readonly owner: OwnerKey;
  readonly run: number;
  readonly log: ChangeFileLog;
  readonly throttle: UploadThrottle;
  readonly registry: TaskChangelogRegistry;
  readonly metrics: UploadMetrics;
  readonly scheduler: StateChangeUploadScheduler;
  readonly states: StateObjects;
  readonly changeBytesMax: number;
  readonly preemptivePersistBytes: number;
  readonly reusesMemory: boolean;
  readonly readStored: WriterContext["readStored"];
  readonly #job: string;
  #carried: readonly NeededFile[];
  /** Writers of which the carried files may hold something that counts, with where that ends. */
  readonly #carriedWriters: Map<string, number>;
  readonly #writers = new Map<string, ChangelogWriter>();
  readonly #endedWriters: EndedWriters;
  readonly #clock: Clock;
  readonly #local: LocalRecovery | undefined;
  readonly #hideGauge: () => void;
  readonly #logger: Logger;
  #reliefTimer: Timer | undefined;
  #ended: Error | undefined;
  readonly #ending = new AbortController();

  constructor(options: JobRunOptions) {
    const { settings } = options;
    const ports = withLogFields(options.ports, { epoch: options.owner.epoch });
    this.#logger = ports.logger;
    this.#job = options.place.keys.job;
    this.#clock = ports.clock;
    this.owner = options.owner;
    this.run = options.run;
    this.log = options.uploads.log;
    this.registry = options.uploads.registry;
    this.#carried = options.carried;
    this.#carriedWriters = new Map(
      [...options.start].map(([id, { sequenceNumber }]) => [id, sequenceNumber]),
    );
    this.readStored = options.readStored;
    this.changeBytesMax = settings.changeBytesMax;
    this.preemptivePersistBytes = settings.preemptivePersistBytes;
    const { metrics } = options.uploads;
    this.metrics = metrics;
    this.throttle = new UploadThrottle(
      settings.inFlightBytesMax,
      settings.inFlightBytesMax + settings.preemptivePersistBytes,
      { onShortage: () => this.relieve(), waits: { clock: ports.clock, metrics } },
    );
    this.#local = options.uploads.local;
    this.#hideGauge = metrics.observe({ trackedFiles: () => this.registry.trackedFiles });
    const components = { clock: ports.clock, metrics, registry: this.registry };
    const main = new StateChangeFsUploader(this.log, () => this.checkOwner(), components);
    const uploader = this.#local === undefined
      ? main
      : new DuplicatingStateChangeFsUploader(main, this.#local.mirror);
    this.reusesMemory = !uploader.canOverlap;
    const { throttle } = this;
    this.scheduler = schedulerFromConfig(this.#job, settings, { ...ports, uploader, throttle });
    const { place, run } = options;
    const ended = this.#ending.signal;
    this.states = new StateObjects({ place, ports, settings, epoch: this.epoch, run, ended });
    for (const end of options.start.values()) this.#begin(end);
    this.#endedWriters = new EndedWriters(this.#writers.values(), this.log.lastNumber > 0);
    this.#logger.log("info", "A run is served", { run });
  }

  get epoch(): number {
    return this.owner.epoch;
  }

  /** Whether the run has not ended. */
  get isRunning(): boolean {
    return this.#ended === undefined;
  }

  /** Every writer, in order of name. */
  get writers(): ChangelogWriter[] {
    const begun = [...this.#writers.values()].filter(({ isBegun }) => isBegun);
    return begun.sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /** The writer of this name, begun at 0 where it is missing. @throws {TidemarkError} `settings-conflict` */
  writer(id: string, keyGroups: KeyGroupRange | undefined): ChangelogWriter {
    this.checkUsable();
    const writer = this.#writers.get(id);
    if (writer === undefined) {
      checkName("writer", id);
      checkRange(keyGroups);
      this.#endedWriters.checkFree(id);
      const range = keyGroups ?? [0, KEY_GROUP_MAX];
      return this.#begin({ writer: id, keyGroups: range, sequenceNumber: 0, nextOffset: 0 });
    }
    const [from, to] = writer.keyGroups;
    if (keyGroups !== undefined && (keyGroups[0] !== from || keyGroups[1] !== to)) {
      throw new TidemarkError(
        "settings-conflict",
        `Writer ${id} has key groups ${from} to ${to}, not ${keyGroups[0]} to ${
          keyGroups[1]
        }: use another writer for another range`,
        { details: { writer: id, found: [from, to], wanted: [...keyGroups] } },
      );
    }
    return writer;
  }

  /** Ends a writer with the next published checkpoint. @throws {TidemarkError} `writer-not-found` */
  retireWriter(id: string): void {
    this.checkUsable();
    const writer = this.#writers.get(id);
    if (writer !== undefined) return writer.retire();
    this.#endedWriters.checkFree(id);
    throw new TidemarkError(
      "writer-not-found",
      `Cannot retire writer ${id} of job ${this.#job}: there is no such writer; list them to see which there are`,
      { details: { job: this.#job, writer: id } },
    );
  }

  #begin(start: WriterEnd): ChangelogWriter {
    const begun = new ChangelogWriter(start, this);
    this.#writers.set(begun.id, begun);
    return begun;
  }

  /** What ended the run; undefined while it takes changes. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  checkUsable(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  /**
   * @throws What ended the run, when something that was appended is not durable, and nobody was told: an owner that
   * was overtaken, and a resume that failed, say so themselves.
   */
  checkNothingLost(): void {
    const ended = this.#ended;
    if (ended === undefined || hasCode(ended, "fenced") || hasCode(ended, "closed")) return;
    if (this.writers.some(({ durableOffset, nextOffset }) => durableOffset < nextOffset)) {
      throw ended;
    }
  }

  checkOwner(): void {
    this.checkUsable();
    this.checkKey();
  }

  /** Throws when the job has another owner, or that can't be told; the run is over then. */
  checkKey(): void {
    try {
      this.owner.check();
    } catch (error) {
      this.end(error as Error);
      throw error;
    }
  }

  checkRun(run: number | undefined, { required }: { readonly required: boolean }): void {
    if (run === this.run) return;
    if (run !== undefined) {
      throw new TidemarkError(
        "fenced",
        `Run ${run} of job ${this.#job} is over: run ${this.run} has begun; resume to take the job back`,
        { details: { job: this.#job, run, currentRun: this.run } },
      );
    }
    if (!required || this.run === 1) return;
    throw new TidemarkError(
      "run-required",
      `Cannot append at an offset without a run: job ${this.#job} was resumed, or made anew after a deletion, and its run is ${this.run}; send the run that resume answered`,
      { details: { job: this.#job, currentRun: this.run } },
    );
  }

  hasLocalCopy(key: string): boolean {
    return this.#local?.mirror.has(key) ?? false;
  }

  relieve(): void {
    if (!this.isRunning) return;
    // What failed is tried again as long as memory is short: else nobody might ever persist again.
    this.#reliefTimer ??= this.#clock.schedule(RELIEF_PERIOD_MS, () => {
      this.#reliefTimer = undefined;
      if (!this.throttle.isAvailable()) this.relieve();
    });
    if (this.scheduler.isUploading) return;
    for (const writer of this.#writers.values()) writer.upload();
    this.scheduler.flush();
  }

  /** Rolls every writer over, in one synchronous step. Those that have ended are left out as soon as they may be. */
  rollOver(): RunPosition {
    const tailFrom = { epoch: this.epoch, number: this.log.currentNumber };
    this.#endedWriters.note(this.#writers.values(), this.log.lastNumber);
    const leaving = this.#endedWriters.leaving(tailFrom.number);
    const staying = this.writers.filter(({ id }) => !leaving.has(id));
    return { tailFrom, writers: staying.map((writer) => writer.rollOver()), leaving };
  }

  /** Makes everything that was appended durable. */
  async persistAll(onWriter?: (done: number, total: number) => void): Promise<void> {
    const writers = [...this.#writers.values()];
    let done = 0;
    onWriter?.(done, writers.length);
    const durable = Promise.all(writers.map(async (writer) => {
      await writer.makeDurable();
      onWriter?.(++done, writers.length);
    }));
    // Everything is there: nothing else is worth a wait.
    this.scheduler.flush();
    await durable;
  }

  /** Makes everything that was appended durable, and takes no more. */
  async drain(): Promise<void> {
    await this.persistAll();
    await this.scheduler.close({ mode: "drain" });
  }

  /**
   * Learns what older files hold, where something was given up: one of which that is not known is named by every
   * checkpoint, and so kept for ever.
   *
   * @param read Answers the sets of a file; undefined where they can't be read.
   */
  async learnCarried(
    { writers, leaving }: RunPosition,
    read: (file: NeededFile) => Promise<NeededFile["sets"]>,
  ): Promise<void> {
    const isGivenUp = leaving.size > 0 ||
      writers.some(({ base, isClosed }) => isClosed === true || (base?.sequenceNumber ?? 0) > 0);
    if (!isGivenUp || this.#carried.every(({ sets }) => sets !== undefined)) return;
    const learned: NeededFile[] = [];
    for (const file of this.#carried) {
      learned.push({ ...file, sets: file.sets ?? await read(file) });
    }
    this.#carried = learned;
  }

  /**
   * Files that a checkpoint at this position names, and their hold on them: they stay until it is published or has
   * failed.
   */
  filesOf(position: CheckpointPosition): { files: NeededFile[]; letGo: () => void } {
    const ends = new Map(position.writers.map((end) => [end.writer, end]));
    const files = this.#files((writer, { first, last }) => {
      const end = ends.get(writer);
      return end !== undefined && first < end.sequenceNumber &&
        last >= (end.base?.sequenceNumber ?? 0);
    });
    const keys = files.map(({ key }) => key);
    this.#local?.checkpointing(keys);
    return { files, letGo: this.registry.pin(keys) };
  }

  /** A checkpoint at this position was published, and owns these files. */
  confirm({ writers, leaving }: RunPosition, files: readonly NeededFile[]): void {
    for (const { key } of files) this.registry.stopTracking(key);
    this.#local?.published();
    for (const end of writers) this.#writers.get(end.writer)!.confirm(end);
    for (const id of this.#endedWriters.left(leaving)) {
      this.#writers.delete(id);
      this.#carriedWriters.delete(id);
    }
    this.#endedWriters.note(this.#writers.values(), this.log.lastNumber);
    this.#forgetUnneeded(files);
  }

  /** What a published checkpoint leaves out may be deleted: no later one names it, whoever takes a name up again. */
  #forgetUnneeded(named: readonly NeededFile[]): void {
    const needed = new Set([...named, ...this.durableFiles()].map(({ key }) => key));
    const isUnneeded = ({ key }: { readonly key: string }) => !needed.has(key);
    this.#carried = this.#carried.filter((file) => !isUnneeded(file));
    this.log.forget(this.log.files.filter(isUnneeded).map(({ key }) => key));
  }

  /** Ends the open file when it holds the last of an ended writer, so that the next checkpoint need not list it. */
  async endFileOfEnded(): Promise<void> {
    if (!this.log.isWriting && this.#endedWriters.isHeldBy(this.log.currentNumber)) {
      await this.log.seal();
    }
  }

  /** Where every writer's durable part ends. */
  durableEnds(): Map<string, WriterEnd> {
    return new Map(this.writers.map((writer) => [writer.id, writer.durableEnd]));
  }

  /** Where every writer goes on when the run ends and nothing is rewound. */
  resumedEnds(): Map<string, WriterEnd> {
    return new Map(this.writers.map((writer) => [writer.id, writer.resumedEnd]));
  }

  /** Files that hold everything durable of the current line. */
  durableFiles(): NeededFile[] {
    return this.#files((writer, range) => this.#writers.get(writer)?.needs(range) ?? false);
  }

  /** Keys of every file that the run needs: what is durable, what is being written, what a checkpoint may name. */
  keysInUse(): Set<string> {
    return new Set([...this.durableFiles().map(({ key }) => key), ...this.registry.trackedKeys]);
  }

  /** Durable files with a change set that is wanted, and those of which it is not known what is in them. */
  #files(isWanted: (writer: string, range: SetRange) => boolean): NeededFile[] {
    const own = this.log.files.map(({ syncedLength: length, ...file }) => ({ ...file, length }));
    return [
      ...this.#carried.filter(({ sets }) =>
        sets === undefined ||
        [...sets].some(([id, range]) =>
          range.first < (this.#carriedWriters.get(id) ?? 0) && isWanted(id, range)
        )
      ),
      ...own.filter(({ sets }) => [...sets].some(([id, range]) => isWanted(id, range))),
    ];
  }

  /** Ends the run: whatever waits fails with `reason`, and nothing is taken any more. A later reason replaces it. */
  end(reason: Error): void {
    const isFirst = this.#ended === undefined;
    this.#ended = reason;
    if (!isFirst) return;
    this.#logEnd(reason);
    this.#ending.abort(reason);
    this.#reliefTimer?.cancel();
    this.#hideGauge();
    this.throttle.close(reason);
    void this.scheduler.close({ mode: "abort", reason });
    this.log.withdraw();
    for (const writer of this.#writers.values()) writer.end(reason);
  }

  #logEnd(reason: Error): void {
    const { run } = this;
    // A close, or a resume of this very job: somebody has asked for it.
    const isAskedFor = hasCode(reason, "closed") || (reason as TidemarkError).details?.run === run;
    if (isAskedFor) this.#logger.log("info", "A run was let go", { run });
    else this.#logger.log("warning", "A run has ended", { run, error: reason });
  }
}

function checkRange(keyGroups: KeyGroupRange | undefined): void {
  if (keyGroups === undefined) return;
  const [from, to] = keyGroups;
  const isRange = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to &&
    to <= KEY_GROUP_MAX;
  if (!isRange) {
    throw new RangeError(
      `Cannot use key groups ${from} to ${to}: wants whole numbers from 0 to ${KEY_GROUP_MAX}, in order`,
    );
  }
}
