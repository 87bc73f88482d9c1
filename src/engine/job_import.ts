/**
 * Makes a job from an archive. Everything is stored and checked before a generation names any of it; until then the
 * newest generation says that the job is being imported, and whoever comes next begins anew or removes it.
 * Owns: the order of steps, taking back what failed. Does not own: what an archive may say (`ArchivePlan`), frames.
 * @module
 */
import { scanTail } from "./changelog/tail_scan.ts";
import type { Tail } from "./changelog/tail.ts";
import { ArchivePlan, type PlannedObject } from "./checkpoint/archive_plan.ts";
import { Catalog } from "./checkpoint/catalog.ts";
import { type JobPlace, readManifest, readNewestGeneration } from "./checkpoint/catalog_read.ts";
import { Checkpointer } from "./checkpoint/checkpointer.ts";
import { isFree, letGo, sweepDeleted } from "./checkpoint/deleted_job.ts";
import { emptyGeneration } from "./checkpoint/empty_generation.ts";
import { orAborted } from "./checkpoint/or_aborted.ts";
import { OwnerKey } from "./checkpoint/owner_key.ts";
import { withReserve } from "./checkpoint/reserve.ts";
import { filesOfManifest, joinFiles } from "./checkpoint/restore_source.ts";
import { verifyJob } from "./checkpoint/verify.ts";
import { TidemarkError } from "./errors.ts";
import { ARCHIVE_NAME, type ArchiveBody, decodeArchive } from "./format/archive.ts";
import type { CatalogEntry, GenerationBody } from "./format/generation.ts";
import type { ManifestBody } from "./format/manifest.ts";
import { invalidArchive, tarBytesOf, tarEnd, type TarEntry, TarReader } from "./format/tar.ts";
import { FACT_BYTES_MAX, MIB } from "./limits.ts";
import { formatCount } from "./paths.ts";
import type { Ports } from "./port/ports.ts";
import type { ImportJobOptions, JobImport } from "./types.ts";

/** What importing a job needs. */
export interface JobImportOptions extends ImportJobOptions {
  readonly place: JobPlace;
  readonly ports: Ports;
  /** The archive. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Imports a job under a name that is free.
 *
 * @throws {TidemarkError} `job-exists`, `invalid-archive`, `unsupported-format`, `job-busy`, `fenced`
 */
export async function importJob(options: JobImportOptions): Promise<JobImport> {
  const { place, bytes, signal } = options;
  signal?.throwIfAborted();
  checkFree(place, await readNewestGeneration(place));
  const reader = new TarReader(untilAborted(bytes, signal));
  try {
    const archive = await readArchive(reader);
    const plan = new ArchivePlan(place, archive);
    const lock = await withReserve(place.reserve, () => place.backend.lock(place.keys.lock));
    try {
      return await carryOut(options, { reader, archive, plan });
    } finally {
      await letGo(options, lock);
    }
  } finally {
    await reader.close();
  }
}

interface Source {
  readonly reader: TarReader;
  readonly archive: ArchiveBody;
  readonly plan: ArchivePlan;
}

async function carryOut(options: JobImportOptions, source: Source): Promise<JobImport> {
  const { place, ports } = options;
  const newest = await readNewestGeneration(place);
  checkFree(place, newest);
  const owner = await takeEpoch(options, newest, source.plan.epochMax);
  try {
    const catalog = new Catalog(place, ports, newest);
    catalog.publishAs(owner);
    const { run: foundRun = 0 } = newest ?? {};
    const { archive } = source;
    // Runs of a job that had the name before must append nothing to this one.
    const run = Math.max(archive.run, foundRun + (newest === undefined ? 0 : 1));
    await catalog.publish((found) => {
      checkFree(place, found);
      return emptyGeneration("importing", { run: foundRun, fingerprint: 0n }, owner.epoch);
    });
    return await new Import(options, source, { owner, catalog, run }).run();
  } finally {
    await letGo(options, owner);
  }
}

/** Takes an epoch above all that the archive names, and fences whoever had the name before. */
async function takeEpoch(
  { place, ports }: JobImportOptions,
  newest: GenerationBody | undefined,
  epochMax: number,
): Promise<OwnerKey> {
  const taking = { ...place, ports };
  if (newest === undefined) return await OwnerKey.takeFrom(epochMax + 1, taking);
  const owner = await OwnerKey.takeFrom(newest.epoch + 1, taking);
  if (owner.epoch > epochMax) return owner;
  await owner.close();
  return await OwnerKey.takeFrom(epochMax + 1, taking);
}

/** One import, by the owner of the name. */
class Import {
  readonly #options: JobImportOptions;
  readonly #source: Source;
  readonly #owner: OwnerKey;
  readonly #catalog: Catalog;
  readonly #run: number;
  readonly #total: number;
  #done = 0;

  constructor(
    options: JobImportOptions,
    source: Source,
    { owner, catalog, run }: {
      readonly owner: OwnerKey;
      readonly catalog: Catalog;
      readonly run: number;
    },
  ) {
    this.#options = options;
    this.#source = source;
    this.#owner = owner;
    this.#catalog = catalog;
    this.#run = run;
    this.#total = source.plan.objects.reduce(
      (sum, { size }) => sum + tarBytesOf(size),
      tarEnd().length,
    );
  }

  async run(): Promise<JobImport> {
    const { place, signal } = this.#options;
    const { plan, archive } = this.#source;
    let isPublishing = false;
    try {
      await this.#clear();
      const entries = await this.#takeObjects();
      const { tail, head } = await this.#check(entries);
      signal?.throwIfAborted();
      this.#owner.check();
      isPublishing = true;
      await this.#publish(entries, tail);
      await place.room?.recount();
      this.#progress(this.#total - this.#done);
      return {
        job: place.keys.job,
        from: { store: archive.store, job: archive.job },
        checkpoints: entries.length,
        objects: plan.objects.length,
        bytes: plan.bytes,
        head: head?.uuid ?? null,
        run: this.#run,
      };
    } catch (error) {
      const isUnknown = error instanceof TidemarkError && error.outcome === "unknown";
      // What may have been published keeps all that it names.
      if (!isPublishing || !isUnknown) await this.#takeBack();
      throw error;
    }
  }

  /** Removes what is left of the job that had the name, or of an import that was stopped. */
  async #clear(): Promise<void> {
    const { place, signal } = this.#options;
    const checkOwner = () => this.#owner.check();
    const { problems: [problem] } = await sweepDeleted(place, { checkOwner, signal });
    if (problem === undefined) return;
    throw new TidemarkError(
      "storage-unavailable",
      `Cannot import job ${place.keys.job}: ${problem.key} is left of an earlier one: ${problem.reason}`,
      { details: { key: problem.key } },
    );
  }

  async #takeObjects(): Promise<CatalogEntry[]> {
    const { reader, plan } = this.#source;
    const entries: CatalogEntry[] = [];
    let isWhole = false;
    for (const object of plan.objects) {
      this.#owner.check();
      const found = await reader.next();
      checkIs(found, object);
      if (object.entry !== undefined) {
        entries.push(await this.#takeManifest(object.entry, await readAll(reader, object)));
        continue;
      }
      // Before the first byte of what may be long.
      if (!isWhole) plan.checkWhole();
      isWhole = true;
      await this.#store(object, reader.content(object));
    }
    if (!isWhole) plan.checkWhole();
    const more = await reader.next();
    if (more !== undefined) throw invalidArchive(`it holds ${JSON.stringify(more.name)} as well`);
    return entries;
  }

  async #takeManifest(told: CatalogEntry, found: Uint8Array): Promise<CatalogEntry> {
    const { backend, reserve, room } = this.#options.place;
    const { bytes, entry } = this.#source.plan.takeManifest(told, found);
    const tag = formatCount(this.#owner.epoch);
    await room?.require(entry.manifest.key, bytes.length);
    await withReserve(reserve, () => backend.put(entry.manifest.key, bytes, { tag }));
    this.#progress(tarBytesOf(found.length));
    return entry;
  }

  /** Stores one object as it comes, in pieces of a size that a disk likes. */
  async #store({ key, size }: PlannedObject, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const appender = await this.#options.place.backend.createAppender(key);
    try {
      const block = new Uint8Array(Math.min(MIB, size));
      let filled = 0;
      const write = async (): Promise<void> => {
        await appender.write(block.subarray(0, filled));
        this.#progress(filled);
        filled = 0;
      };
      for await (const piece of pieces) {
        for (let at = 0; at < piece.length;) {
          const part = piece.subarray(at, at + block.length - filled);
          block.set(part, filled);
          filled += part.length;
          at += part.length;
          if (filled === block.length) await write();
        }
      }
      if (filled > 0) await write();
      await appender.sync();
      this.#progress(tarBytesOf(size) - size);
    } finally {
      await appender.close();
    }
  }

  /** Reads all that was stored as a restore and a recovery would, before anything names it. */
  async #check(
    entries: readonly CatalogEntry[],
  ): Promise<{ tail: Tail; head: ManifestBody | undefined }> {
    const { place, signal, onProgress } = this.#options;
    const { archive, plan } = this.#source;
    const headEntry = entries.find(({ uuid }) => uuid === archive.head);
    const head = headEntry && await readManifest(place, headEntry.manifest);
    const { epoch } = this.#owner;
    let tail: Tail | undefined;
    const findTail = async () => {
      tail = await scanTail({
        ...{ backend: place.backend, keys: place.keys, store: place.store, doomed: [], signal },
        ...{ head, adopted: plan.adopted(epoch), tailFrom: { epoch, number: 0 } },
      });
      const headFiles = head === undefined ? [] : filesOfManifest(head);
      return { files: joinFiles(headFiles, tail.files), writers: tail.writers };
    };
    const all = { checkpoints: [...entries] };
    const { ok, problems } = await verifyJob(place, all, findTail, { signal, onProgress });
    if (ok && tail !== undefined) return { tail, head };
    const [{ key, reason }] = problems;
    throw invalidArchive(`${key} is damaged: ${reason}`, { key, problems: problems.length });
  }

  async #publish(entries: readonly CatalogEntry[], { writers, files }: Tail): Promise<void> {
    const { place, ports } = this.#options;
    const { fingerprint, head, retention } = this.#source.archive;
    const checkpointer = new Checkpointer(place, ports, this.#catalog);
    const { epoch } = this.#owner;
    const content = { epoch, run: this.#run, fingerprint, head, retention };
    await checkpointer.publishImported({ ...content, checkpoints: [...entries] }, writers, files);
    const { job } = place.keys;
    const { store, job: from } = this.#source.archive;
    ports.logger.log("info", "Imported a job", { job, store, from, checkpoints: entries.length });
  }

  /** Makes the name free again. What can't be done stays for whoever imports or deletes the job next. */
  async #takeBack(): Promise<void> {
    const { place, ports: { logger } } = this.#options;
    const { job } = place.keys;
    try {
      const { epoch } = this.#owner;
      await this.#catalog.publish((found) => emptyGeneration("deleted", found!, epoch));
      const checkOwner = () => this.#owner.check();
      const { problems } = await sweepDeleted(place, { checkOwner });
      if (problems.length > 0) throw new Error(`${problems[0].key}: ${problems[0].reason}`);
    } catch (error) {
      logger.log("warning", "Cannot remove all of an import that failed", { job, error });
    }
  }

  #progress(bytes: number): void {
    this.#done += bytes;
    this.#options.onProgress?.({ phase: "import", done: this.#done, total: this.#total });
  }
}

/** @throws {TidemarkError} `job-exists` */
function checkFree(place: JobPlace, newest: GenerationBody | undefined): void {
  if (!isFree(newest)) throw jobExists(place);
}

/** The error of a name that is taken. */
export function jobExists({ keys: { job }, backend }: JobPlace): TidemarkError {
  return new TidemarkError(
    "job-exists",
    `Cannot import job ${job}: ${backend.location} has a job of this name; import it under another, or delete that one first`,
    { details: { job } },
  );
}

function checkIs(found: TarEntry | undefined, { name, size }: TarEntry): void {
  if (found?.name === name && found.size === size) return;
  const what = found === undefined
    ? "its end"
    : `${found.size} bytes of ${JSON.stringify(found.name)}`;
  throw invalidArchive(`${what} comes where ${size} bytes of ${name} should`);
}

async function readArchive(reader: TarReader): Promise<ArchiveBody> {
  const first = await reader.next();
  if (first?.name !== ARCHIVE_NAME || first.size > FACT_BYTES_MAX) {
    throw invalidArchive(`it does not begin with ${ARCHIVE_NAME}`);
  }
  const bytes = await readAll(reader, first);
  try {
    return decodeArchive(bytes);
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code === "unsupported-format") throw error;
    throw invalidArchive(error.message, error.details, error);
  }
}

/** Reads a small file of the archive. No more memory is taken than bytes have come. */
async function readAll(reader: TarReader, entry: TarEntry): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader.content(entry)) pieces.push(piece);
  const bytes = new Uint8Array(entry.size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** What comes, until a signal ends the wait: whoever sends it may send nothing for ever. */
async function* untilAborted(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const pieces = bytes[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await orAborted(pieces.next(), signal);
      if (done === true) return void (isOver = true);
      yield value;
    }
  } finally {
    if (!isOver) {
      // One that waits for its next piece ends when that comes, if ever.
      Promise.resolve(pieces.return?.()).catch(() => {
        // What ended the import says more.
      });
    }
  }
}
