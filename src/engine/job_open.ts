/**
 * Opens a job as its owner (DESIGN, protocols *Open and fence*, *Recover*).
 * Owns: the order of steps. Does not own: any of them.
 * @module
 */
import { furthest, type Offsets, offsetsOf, rangesBetween } from "./changelog/offset_ranges.ts";
import { scanTail } from "./changelog/tail_scan.ts";
import type { NeededFile, Tail } from "./changelog/tail.ts";
import { findWhole } from "./checkpoint/fallback.ts";
import { Catalog } from "./checkpoint/catalog.ts";
import { type JobPlace, readNewestGeneration } from "./checkpoint/catalog_read.ts";
import { checkFingerprint, Checkpointer } from "./checkpoint/checkpointer.ts";
import { checkImported, checkThere, isDeleted, sweepDeleted } from "./checkpoint/deleted_job.ts";
import { OwnerKey } from "./checkpoint/owner_key.ts";
import { filesOfManifest, joinFiles } from "./checkpoint/restore_source.ts";
import { withReserve } from "./checkpoint/reserve.ts";
import { sweepTemporaries } from "./checkpoint/temporaries.ts";
import { TidemarkError } from "./errors.ts";
import type { GenerationBody } from "./format/generation.ts";
import type { ManifestBody } from "./format/manifest.ts";
import type { CodecThread } from "./port/codec_thread.ts";
import type { Ports } from "./port/ports.ts";
import type { StoreSettings } from "./settings.ts";
import type { OwnerLock } from "./storage/backend.ts";
import type { JobOptions, OffsetRange, RecoveryReport } from "./types.ts";
import { beginUploads, copyUnproven, type JobUploads } from "./job_uploads.ts";
import type { LocalRecovery } from "./upload/local_recovery.ts";

/** What opening a job needs. */
export interface JobOpenOptions extends JobOptions {
  readonly place: JobPlace;
  readonly settings: StoreSettings;
  readonly ports: Ports;
  /** Makes local copies. @default none are made */
  readonly local?: LocalRecovery;
  /** What large batches are encoded on. @default this thread */
  readonly codecThread?: CodecThread;
}

/** An open job, ready to serve. */
export interface OpenedJob {
  readonly lock: OwnerLock | undefined;
  readonly owner: OwnerKey;
  readonly checkpointer: Checkpointer;
  readonly uploads: JobUploads;
  readonly tail: Tail;
  /** Files of older epochs, and copies, that the tail and the next checkpoint need. */
  readonly carried: readonly NeededFile[];
  readonly report: RecoveryReport;
}

/**
 * Takes a job over and recovers it.
 *
 * @throws {TidemarkError} `job-not-found`, `job-busy`, `catalog-lost`, `corrupt`, `changes-lost`, `fenced`
 */
export async function openJob(options: JobOpenOptions): Promise<OpenedJob> {
  const { place, create = true, takeOver = false } = options;
  checkFingerprint(options.fingerprint);
  // Before anything is made: a job that can't be opened is left as it is.
  const found = await readNewestGeneration(place);
  checkMayCreate(place, found, create);
  const lock = await withReserve(
    place.reserve,
    () => place.backend.lock(place.keys.lock, { takeOver }),
  );
  const warnings = lock?.warnings ?? [];
  for (const warning of warnings) {
    options.ports.logger.log("warning", warning, { job: place.keys.job });
  }
  try {
    return { lock, ...await takeJob(options, warnings) };
  } catch (error) {
    await lock?.close();
    throw error;
  }
}

function checkMayCreate(
  place: JobPlace,
  newest: GenerationBody | undefined,
  create: boolean,
): void {
  if (!create) checkThere(place, newest, "create it first");
  checkImported(place, newest);
}

async function takeJob(
  options: JobOpenOptions,
  warnings: readonly string[],
): Promise<Omit<OpenedJob, "lock">> {
  const { place, ports, fingerprint, create = true } = options;
  const newest = await readNewestGeneration(place);
  checkMayCreate(place, newest, create);
  const owner = await OwnerKey.takeFrom((newest?.epoch ?? 0) + 1, { ...place, ports });
  try {
    if (newest !== undefined && isDeleted(newest)) await clear(place, owner);
    const catalog = new Catalog(place, ports, newest);
    const checkpointer = new Checkpointer(place, ports, catalog);
    checkpointer.publishAs(owner);
    await checkpointer.fence(owner.epoch, fingerprint);
    owner.check();
    const recovered = await recover(options, owner, checkpointer);
    owner.check();
    await sweepTemporaries(place, owner.epoch, ports);
    const report = { ...recovered.report, warnings };
    return { owner, checkpointer, ...recovered, report };
  } catch (error) {
    await owner.close();
    throw error;
  }
}

/** Removes what a deletion left that was stopped: nothing of it may be taken for the new job's, by a salvage for example. */
async function clear(place: JobPlace, owner: OwnerKey): Promise<void> {
  const { problems: [problem] } = await sweepDeleted(place, { checkOwner: () => owner.check() });
  if (problem === undefined) return;
  throw new TidemarkError(
    "storage-unavailable",
    `Cannot make job ${place.keys.job} anew: ${problem.key} is left of the one that was deleted: ${problem.reason}; delete the job again to see what is left`,
    { details: { job: place.keys.job, key: problem.key } },
  );
}

interface FoundTail {
  readonly head: ManifestBody | undefined;
  readonly tail: Tail;
  /** Where every writer's last change ends that anything told of. */
  readonly known: Offsets;
}

/** Reads what the job goes on from, and writes nothing. */
async function findTail(
  { place: { backend, keys, store } }: JobOpenOptions,
  checkpointer: Checkpointer,
  epoch: number,
): Promise<FoundTail> {
  const { tailFrom, doomed } = checkpointer.newest;
  const head = await checkpointer.readHead();
  const adopted = await checkpointer.readAdopted();
  const tail = await scanTail(
    { backend, keys, store, tailFrom, doomed, head, adopted, beforeEpoch: epoch },
  );
  return { head, tail, known: tail.known };
}

/** Where the last change of every writer ends that anything tells of, in a job that can't be recovered. */
async function surveyTail(
  { place: { backend, keys, store } }: JobOpenOptions,
  checkpointer: Checkpointer,
  beforeEpoch: number,
): Promise<Offsets> {
  const { tailFrom, doomed } = checkpointer.newest;
  const head = await ifGood(checkpointer.readHead());
  const adopted = await ifGood(checkpointer.readAdopted());
  // What is lost has been told of already.
  const onLoss = (): void => {};
  const tail = await scanTail(
    { backend, keys, store, tailFrom, doomed, head, adopted, beforeEpoch, onLoss },
  );
  return furthest(tail.known, offsetsOf(tail.writers.values()), offsetsOf(adopted?.writers ?? []));
}

/** What was read; undefined when it is damaged or missing. */
async function ifGood<Read>(reading: Promise<Read>): Promise<Read | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isOfData(error)) return undefined;
    throw error;
  }
}

function isOfData(error: unknown): boolean {
  return error instanceof TidemarkError && error.kind === "corrupt";
}

/** With `fallback`, a job that can't be recovered goes on from its newest whole checkpoint, as if it was resumed there. */
async function findOrGiveUpTail(
  options: JobOpenOptions,
  checkpointer: Checkpointer,
  epoch: number,
): Promise<FoundTail> {
  try {
    return await findTail(options, checkpointer, epoch);
  } catch (error) {
    if (!isOfData(error) || options.fallback !== true) throw error;
    const { place, ports: { logger } } = options;
    const job = place.keys.job;
    logger.log("error", "Gives the tail up, and falls back to a checkpoint", { job, error });
    const { newest } = checkpointer;
    const head = newest.head === null
      ? null
      : (await findWhole(place, newest, "latest", logger)).uuid;
    const known = await surveyTail(options, checkpointer, epoch);
    await checkpointer.publishResume(epoch, { head });
    return { ...await findTail(options, checkpointer, epoch), known };
  }
}

async function recover(
  options: JobOpenOptions,
  owner: OwnerKey,
  checkpointer: Checkpointer,
): Promise<Pick<OpenedJob, "uploads" | "tail" | "carried" | "report">> {
  const { place, settings, ports, local, codecThread } = options;
  const { epoch } = owner;
  const found = await findOrGiveUpTail(options, checkpointer, epoch);
  const { run } = checkpointer.newest;
  const uploads = beginUploads({ place, epoch, run, settings, ports, local, codecThread });
  try {
    return { uploads, ...await takeOver(options, checkpointer, uploads, found) };
  } catch (error) {
    await uploads.log.close();
    throw error;
  }
}

/** Copies what need not be on disk, and publishes what was taken over. */
async function takeOver(
  { place, local, ports }: JobOpenOptions,
  checkpointer: Checkpointer,
  uploads: JobUploads,
  { head, tail, known }: FoundTail,
): Promise<Pick<OpenedJob, "tail" | "carried" | "report">> {
  const { copies, release } = await copyUnproven(place, uploads, tail);
  await checkpointer.publishRecovered(tail, [...tail.files, ...copies]);
  // The catalog names them from now on.
  release();
  logTorn(place, ports, tail);
  const ends = offsetsOf(tail.writers.values());
  const dropped = rangesBetween(ends, known);
  logDropped(place, ports, dropped);
  const carried = joinFiles(filesOfHead(head), tail.files);
  await local?.sweep(place.keys, carried);
  return {
    tail,
    carried,
    report: {
      adoptedSets: tail.sets,
      adoptedChanges: tail.changes,
      adopted: rangesBetween(offsetsOf(head?.writers ?? []), ends),
      dropped,
      copiedBatches: tail.unproven.length,
      torn: tail.torn,
      warnings: [],
    },
  };
}

function filesOfHead(head: ManifestBody | undefined): NeededFile[] {
  return head === undefined ? [] : filesOfManifest(head);
}

function logDropped({ keys }: JobPlace, { logger }: Ports, dropped: readonly OffsetRange[]): void {
  if (dropped.length === 0) return;
  const message = "Dropped changes, whose files stay until a checkpoint is published";
  logger.log("warning", message, { job: keys.job, dropped });
}

/** One line, however many there are: a full disk leaves one with each file that was begun on it. */
function logTorn({ keys: { job } }: JobPlace, { logger }: Ports, { torn }: Tail): void {
  const [first] = torn;
  if (first === undefined) return;
  const message = "Dropped what was torn and never acknowledged";
  logger.log("warning", message, { job, files: torn.length, ...first });
  for (const one of torn.slice(1)) logger.log("debug", message, { job, ...one });
}
