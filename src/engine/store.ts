/**
 * A store: a place with a marker, and the jobs in it.
 * Owns: the marker, which jobs are open. Does not own: what happens in a job.
 * @module
 */
import { type JobPlace, readNewestGeneration } from "./checkpoint/catalog_read.ts";
import { importUnfinished, isFree } from "./checkpoint/deleted_job.ts";
import { Reserve } from "./checkpoint/reserve.ts";
import { sweepStoreTemporaries } from "./checkpoint/temporaries.ts";
import { type ErrorCode, TidemarkError } from "./errors.ts";
import type { MarkerBody } from "./format/marker.ts";
import { busyHere, type HeldFor, storeClosed } from "./_job_errors.ts";
import { OwnedJob } from "./job.ts";
import { deleteJob } from "./job_delete.ts";
import { exportJob } from "./job_export.ts";
import { importJob, jobExists } from "./job_import.ts";
import { openJob } from "./job_open.ts";
import { readJobStanding } from "./job_standing.ts";
import { StoredJobReader } from "./job_reader.ts";
import { salvageJob } from "./job_salvage.ts";
import { JobKeys, JOBS_PREFIX, MARKER_KEY } from "./paths.ts";
import { withLogFields } from "./log_fields.ts";
import type { CodecThread } from "./port/codec_thread.ts";
import type { Ports } from "./port/ports.ts";
import { StoreHealth } from "./store_health.ts";
import type { StoreSettings } from "./settings.ts";
import type { StorageBackend } from "./storage/backend.ts";
import { LimitedBackend } from "./storage/limited_backend.ts";
import { StoreRoom } from "./storage/store_room.ts";
import { createMarker, findMarker, readMarker, storeNotFound } from "./store_marker.ts";
import type {
  DeleteJobOptions,
  ExportJobOptions,
  ImportJobOptions,
  Job,
  JobDeletion,
  JobImport,
  JobOptions,
  JobReader,
  JobStanding,
  SalvageOptions,
  SalvageReport,
  Store,
  StoreStatus,
} from "./types.ts";
import { LocalDisk } from "./upload/local_disk.ts";
import { findLocalFolder, openLocalFolder } from "./upload/local_folder.ts";
import { LocalRecovery, removeCopies } from "./upload/local_recovery.ts";
import { UploadMetrics } from "./upload/upload_metrics.ts";

/** Options of {@link OpenStore.open}. */
export interface StoreOpenOptions {
  /** Where local copies of change files are made. @default none are made */
  readonly local?: StorageBackend;
  /** What large batches are encoded on; it ends with the store. @default this thread */
  readonly codecThread?: CodecThread;
}

/** Folders that only a job has which was published. */
const JOB_FOLDERS: ReadonlySet<string> = new Set([
  "adopted",
  "catalog",
  "changelog",
  "checkpoints",
  "states",
]);

/** What a job is listed in spite of: somebody must look at it. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(["catalog-lost", "unsupported-format"]);

/** A store on a backend. */
export class OpenStore implements Store {
  readonly id: string;
  readonly isNew: boolean;
  readonly #backend: StorageBackend;
  readonly #local: LocalDisk | undefined;
  readonly #codecThread: CodecThread | undefined;
  readonly #reserve: Reserve;
  /** @default there is no limit */
  readonly #room: StoreRoom | undefined;
  readonly #health: StoreHealth;
  readonly #settings: StoreSettings;
  readonly #ports: Ports;
  readonly #jobs = new Map<string, Promise<OwnedJob>>();
  /** Those of them that are open, so that whoever asks for one often need not wait. */
  readonly #openJobs = new Map<string, OwnedJob>();
  /** Jobs that are being salvaged or deleted: nobody opens them meanwhile. */
  readonly #held = new Map<string, { readonly what: HeldFor; readonly done: Promise<unknown> }>();
  #closing: Promise<void> | undefined;
  readonly #closed = new AbortController();

  private constructor(
    backend: StorageBackend,
    settings: StoreSettings,
    ports: Ports,
    found: {
      readonly marker: MarkerBody;
      readonly isNew: boolean;
      readonly local: LocalDisk | undefined;
      readonly codecThread: CodecThread | undefined;
    },
  ) {
    const isLimited = settings.mode === "own" && StoreRoom.isLimited(settings);
    this.#room = isLimited ? new StoreRoom(backend, ports, settings) : undefined;
    this.#backend = this.#room === undefined ? backend : new LimitedBackend(backend, this.#room);
    this.#local = found.local;
    this.#codecThread = found.codecThread;
    this.#reserve = new Reserve(
      this.#backend,
      ports,
      settings.mode === "own" ? settings.reserveBytes : 0,
    );
    this.#health = new StoreHealth({
      backend: this.#backend,
      ports,
      reserve: this.#reserve,
      room: this.#room,
      isOwn: settings.mode === "own",
      check: () => this.#check(),
      location: backend.location,
    });
    this.#settings = settings;
    this.#ports = ports;
    this.id = found.marker.store;
    this.isNew = found.isNew;
  }

  /**
   * Opens a store.
   *
   * @throws {TidemarkError} `store-not-found`, `not-a-store`, `unsupported-format`, `unsupported-file-system`
   */
  static async open(
    backend: StorageBackend,
    settings: StoreSettings,
    ports: Ports,
    options: StoreOpenOptions = {},
  ): Promise<OpenStore> {
    const isOwn = settings.mode === "own";
    const canCreate = isOwn && settings.create;
    // First of all, since a place that is no store is not touched.
    let marker = canCreate ? await findMarker(backend) : await readMarker(backend);
    const isNew = marker === undefined;
    if (isNew && !canCreate) throw storeNotFound(backend);
    if (isOwn) await backend.prepare({ create: settings.create });
    marker ??= await createMarker(backend, ports);
    const local = await openLocal(options.local, marker.store, isOwn, ports);
    const { codecThread } = options;
    const store = new OpenStore(backend, settings, ports, { marker, isNew, local, codecThread });
    if (isOwn) await sweepStoreTemporaries(backend, ports);
    await store.#reserve.ensure();
    await store.#room?.recount();
    return store;
  }

  get location(): string {
    return this.#backend.location;
  }

  async check(): Promise<void> {
    this.#checkOpen();
    await this.#health.check();
  }

  async #check(): Promise<void> {
    this.#checkOpen();
    const marker = await readMarker(this.#backend);
    if (marker?.store === this.id) return;
    throw new TidemarkError(
      "store-not-found",
      `Cannot find store ${this.id} in ${this.location} any more: ${
        marker === undefined ? `there is no ${MARKER_KEY}` : `store ${marker.store} is there now`
      }; nothing more is stored until it is back`,
      { details: { location: this.location, found: marker?.store } },
    );
  }

  async status(): Promise<StoreStatus> {
    this.#checkOpen();
    const open = await Promise.all(
      // One that is being opened is none yet.
      [...this.#jobs.values()].map((job) => Promise.race([job, undefined]).catch(() => undefined)),
    );
    const jobs = open.flatMap((job) => job === undefined ? [] : [job.status])
      .sort((a, b) => a.job < b.job ? -1 : 1);
    return { ...await this.#health.status(), jobs };
  }

  async jobs(): Promise<string[]> {
    this.#checkOpen();
    const found = new Set<string>();
    for await (const { key } of this.#backend.list(JOBS_PREFIX)) {
      const [job, folder] = key.slice(JOBS_PREFIX.length).split("/");
      // A job whose catalog is gone is a job all the same; an open that died before its first publish is none.
      if (JOB_FOLDERS.has(folder)) found.add(job);
    }
    const there: string[] = [];
    for (const job of [...found].sort()) if (!await this.#isFree(job)) there.push(job);
    return there;
  }

  /** One that is open here is there, and so is one whose catalog can't be read. */
  async #isFree(id: string): Promise<boolean> {
    if (this.#jobs.has(id)) return false;
    try {
      const newest = await readNewestGeneration(this.#place(id));
      return newest !== undefined && isFree(newest);
    } catch (error) {
      if (error instanceof TidemarkError && UNREADABLE.has(error.code)) return false;
      throw error;
    }
  }

  async job(id: string, options: JobOptions = {}): Promise<Job> {
    this.#checkOpen();
    this.#checkMayOwn(id);
    const held = this.#held.get(id);
    if (held !== undefined) {
      // An import takes as long as whoever sends it.
      if (held.what === "import") throw importUnfinished(id);
      await held.done.catch(() => undefined);
      return await this.job(id, options);
    }
    const running = this.#openJobs.get(id);
    if (running?.isRunning) return checkSame(running, options);
    const open = this.#jobs.get(id);
    if (open !== undefined) {
      // An opening that failed was somebody else's, with other options.
      const job = await open.catch(() => undefined);
      if (job === undefined) return await this.job(id, options);
      if (job.isRunning) return checkSame(job, options);
      // Whoever closed it is told; whoever opens it again need not care.
      await this.#closeAnyhow(job.close(), id);
      return await this.job(id, options);
    }
    const opening = this.#open(id, options).catch((error) => {
      this.#jobs.delete(id);
      throw error;
    });
    this.#jobs.set(id, opening);
    return await opening;
  }

  async #open(id: string, options: JobOptions): Promise<OwnedJob> {
    const place = this.#placeWithLocal(id);
    const settings = this.#settings;
    const ports = withLogFields(this.#ports, { job: id });
    const local = this.#local && this.#localRecovery(id, this.#local);
    const codecThread = this.#codecThread;
    try {
      const opened = await openJob({ ...options, place, settings, ports, local, codecThread });
      const onClosed = () => void (this.#jobs.delete(id), this.#openJobs.delete(id));
      const job = new OwnedJob({ place, settings, ports, opened, local, codecThread, onClosed });
      this.#openJobs.set(id, job);
      return job;
    } catch (error) {
      await local?.close();
      throw error;
    }
  }

  #localRecovery(id: string, disk: LocalDisk): LocalRecovery {
    const metrics = new UploadMetrics(this.#ports.metrics, id);
    return new LocalRecovery(
      { ...this.#ports, backend: disk, metrics },
      { ...this.#settings, isLeft: () => disk.isLeft },
    );
  }

  async salvage(id: string, options: SalvageOptions = {}): Promise<SalvageReport> {
    this.#checkOpen();
    const { accept, dryRun = false } = options;
    const place = this.#place(id);
    const act = () => (
      salvageJob({ ...options, place, settings: this.#settings, ports: this.#ports })
    );
    if (accept === undefined || dryRun) return await act();
    this.#checkMayOwn(id);
    return await this.#hold(id, "salvage", () => this.#letGo(id, "salvage").then(act));
  }

  async deleteJob(id: string, options: DeleteJobOptions = {}): Promise<JobDeletion> {
    this.#checkOpen();
    this.#checkMayOwn(id);
    const place = this.#place(id);
    return await this.#hold(id, "delete", async () => {
      const open = await this.#jobs.get(id)?.catch(() => undefined);
      const deletion = await deleteJob({
        ...options,
        place,
        ports: this.#ports,
        isReadHere: () => open?.isRead ?? false,
        endHere: async () => {
          if (open !== undefined) await this.#closeAnyhow(open.abandon(), id);
        },
      });
      if (this.#local?.isLeft === false) {
        await removeCopies(this.#local, place.keys, this.#ports.logger);
      }
      return deletion;
    });
  }

  async *exportJob(id: string, options: ExportJobOptions = {}): AsyncGenerator<Uint8Array, void> {
    this.#checkOpen();
    const place = this.#place(id);
    const reader = new StoredJobReader(place, this.#ports);
    yield* exportJob({ ...options, place, clock: this.#ports.clock, reader });
  }

  async importJob(
    id: string,
    bytes: AsyncIterable<Uint8Array>,
    options: ImportJobOptions = {},
  ): Promise<JobImport> {
    this.#checkOpen();
    this.#checkMayOwn(id);
    const place = this.#place(id);
    return await this.#hold(id, "import", async () => {
      await this.#letGo(id, "import");
      const act = (signal: AbortSignal) =>
        importJob({ ...options, place, ports: this.#ports, bytes, signal });
      return await this.#untilClosed(options.signal, act);
    });
  }

  /** Does something that a signal stops, and closing the store, too. */
  async #untilClosed<Result>(
    given: AbortSignal | undefined,
    action: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(given?.reason);
    const onClose = (): void => stop.abort(this.#closed.signal.reason);
    given?.addEventListener("abort", onAbort, { once: true });
    this.#closed.signal.addEventListener("abort", onClose, { once: true });
    try {
      given?.throwIfAborted();
      return await action(stop.signal);
    } finally {
      given?.removeEventListener("abort", onAbort);
      this.#closed.signal.removeEventListener("abort", onClose);
    }
  }

  /** Does something with a job that nobody opens meanwhile. */
  async #hold<Result>(
    id: string,
    what: HeldFor,
    action: () => Promise<Result>,
  ): Promise<Result> {
    if (this.#held.has(id)) throw busyHere(id, what);
    const done = action().finally(() => this.#held.delete(id));
    this.#held.set(id, { what, done });
    return await done;
  }

  /** One that runs is well; one that could not be opened, or has ended, is nobody's. */
  async #letGo(id: string, what: HeldFor): Promise<void> {
    const open = await this.#jobs.get(id)?.catch(() => undefined);
    if (open === undefined) return;
    if (open.isRunning) throw what === "import" ? jobExists(this.#place(id)) : busyHere(id, what);
    await this.#closeAnyhow(open.close(), id);
  }

  async #closeAnyhow(closing: Promise<void>, job: string): Promise<void> {
    await closing.catch((error) =>
      this.#ports.logger.log("warning", "Cannot close a job cleanly", { job, error })
    );
  }

  #checkMayOwn(id: string): void {
    if (this.#settings.mode !== "read") return;
    throw new TidemarkError(
      "read-only",
      `Cannot own job ${id}: store ${this.location} is open for reading; open it in mode "own"`,
      { details: { job: id } },
    );
  }

  async reader(id: string): Promise<JobReader> {
    this.#checkOpen();
    const reader = new StoredJobReader(this.#placeWithLocal(id), this.#ports);
    await reader.checkpoints();
    return reader;
  }

  async standing(id: string): Promise<JobStanding> {
    this.#checkOpen();
    return await readJobStanding(this.#placeWithLocal(id), this.#ports);
  }

  close(): Promise<void> {
    // Whoever sends an archive may send it for ever.
    if (this.#closing === undefined) this.#closed.abort(storeClosed(this.location));
    return this.#closing ??= this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#held.values()].map(({ done }) => done));
    const closed = await Promise.allSettled(
      [...this.#jobs.values()].map(async (opening) => {
        // Whoever opened a job that could not be opened has been told.
        const job = await opening.catch(() => undefined);
        await job?.close();
      }),
    );
    await this.#codecThread?.close();
    await this.#backend.close();
    await this.#closeLocal();
    const failures = closed.flatMap((result) =>
      result.status === "rejected" ? [result.reason] : []
    );
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "Cannot close every job");
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return;
    throw storeClosed(this.location);
  }

  #place(job: string): JobPlace {
    return {
      backend: this.#backend,
      keys: new JobKeys(job),
      store: this.id,
      reserve: this.#reserve,
      room: this.#room,
    };
  }

  /** A job's place, whose restores read local copies first. */
  #placeWithLocal(job: string): JobPlace {
    const disk = this.#local;
    if (disk === undefined) return this.#place(job);
    const { logger, metrics } = this.#ports;
    const { localFallbacks } = new UploadMetrics(metrics, job);
    const onFallback = (key: string, error: unknown): void => {
      localFallbacks.add();
      logger.log("warning", "Goes on without the local copy of a change file", { key, error });
    };
    const local = {
      backend: disk,
      onFallback,
      get isLeft() {
        return disk.isLeft;
      },
    };
    return { ...this.#place(job), local };
  }

  async #closeLocal(): Promise<void> {
    try {
      await this.#local?.close();
    } catch (error) {
      this.#ports.logger.log("warning", "Cannot close the local copies", { error });
    }
  }
}

async function openLocal(
  local: StorageBackend | undefined,
  store: string,
  isOwn: boolean,
  ports: Ports,
): Promise<LocalDisk | undefined> {
  const { clock, logger, metrics } = ports;
  const hangs = metrics.counter(
    "tidemark_local_disk_hangs_total",
    "Local disks that are left alone, as a call took too long",
    {},
  );
  if (local === undefined) return undefined;
  const onHang = (error: TidemarkError): void => {
    hangs.add();
    logger.log("error", "Goes on without local copies: their disk hangs", { error });
  };
  const disk = new LocalDisk(local, clock, { onHang });
  const isUsable = isOwn
    ? await openLocalFolder(disk, store, ports)
    : await findLocalFolder(disk, store, ports);
  return isUsable ? disk : undefined;
}

function checkSame(job: OwnedJob, options: JobOptions): OwnedJob {
  const { fingerprint } = options;
  if (fingerprint === undefined || fingerprint === job.fingerprint) return job;
  throw new TidemarkError(
    "settings-conflict",
    `Job ${job.id} is open with fingerprint ${job.fingerprint}, not ${fingerprint}: close it first`,
    { details: { job: job.id, found: job.fingerprint, wanted: fingerprint } },
  );
}
