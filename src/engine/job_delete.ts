/**
 * Deletes a whole job (DESIGN, protocol *Open and fence*): fences its owner, publishes that it is deleted, then removes
 * what is left. A crash leaves the job as it was, or deleted.
 * Owns: the order of steps. Does not own: any of them.
 * @module
 */
import { Catalog } from "./checkpoint/catalog.ts";
import { type JobPlace, readNewestGeneration } from "./checkpoint/catalog_read.ts";
import {
  isDeleted,
  jobNotFound,
  leftOf,
  letGo,
  sweepDeleted,
  type SweptJob,
} from "./checkpoint/deleted_job.ts";
import { emptyGeneration } from "./checkpoint/empty_generation.ts";
import { readLeases } from "./checkpoint/lease.ts";
import { OwnerKey } from "./checkpoint/owner_key.ts";
import { withReserve } from "./checkpoint/reserve.ts";
import { sweepTemporaries } from "./checkpoint/temporaries.ts";
import { TidemarkError } from "./errors.ts";
import type { GenerationBody } from "./format/generation.ts";
import type { Ports } from "./port/ports.ts";
import type { DeleteJobOptions, JobDeletion } from "./types.ts";

/** What deleting a job needs. */
export interface JobDeleteOptions extends DeleteJobOptions {
  readonly place: JobPlace;
  readonly ports: Ports;
  /** Whether this process reads it now, other than by a lease. */
  readonly isReadHere: () => boolean;
  /** Ends the job in this process; called once nothing is in the way of the deletion any more. */
  readonly endHere: () => Promise<void>;
}

/**
 * Deletes a job, or ends a deletion that was stopped.
 *
 * @throws {TidemarkError} `job-not-found`, `job-busy`, `catalog-lost`, `fenced`
 */
export async function deleteJob(options: JobDeleteOptions): Promise<JobDeletion> {
  const { place, takeOver = false, signal, endHere } = options;
  signal?.throwIfAborted();
  await checkThere(place);
  if (!takeOver) await checkNotRead(options);
  signal?.throwIfAborted();
  await endHere();
  const lock = await withReserve(
    place.reserve,
    () => place.backend.lock(place.keys.lock, { takeOver }),
  );
  try {
    return await carryOut(options);
  } finally {
    await letGo(options, lock);
  }
}

/** The generation that a deletion goes on from. */
async function checkThere(place: JobPlace): Promise<GenerationBody> {
  const newest = await readNewestGeneration(place);
  if (newest === undefined) throw jobNotFound(place);
  if (isDeleted(newest) && (await leftOf(place)).size === 0) throw jobNotFound(place);
  return newest;
}

/** A reader that comes after this look ends with `snapshot-expired`, or finds no job. */
async function checkNotRead({ place, ports, isReadHere }: JobDeleteOptions): Promise<void> {
  const { checkpoints, holdsTail } = await readLeases(place, ports.clock.nowMs());
  if (checkpoints.size === 0 && !holdsTail && !isReadHere()) return;
  const { job } = place.keys;
  throw new TidemarkError(
    "job-busy",
    `Cannot delete job ${job}: somebody reads it; try again when that has ended, or take it over, which ends them`,
    { details: { job } },
  );
}

async function sweep(
  { place, ports, signal, onProgress }: JobDeleteOptions,
  owner: OwnerKey,
): Promise<SweptJob> {
  const checkOwner = () => owner.check();
  const swept = await sweepDeleted(place, { checkOwner, signal, onProgress });
  await sweepTemporaries(place, owner.epoch, ports);
  await place.reserve?.ensure();
  await place.room?.recount();
  return swept;
}

/** What fails once the deletion is published. */
function deletedAllTheSame({ keys: { job } }: JobPlace, error: unknown): unknown {
  if (!(error instanceof TidemarkError)) return error;
  return new TidemarkError(
    error.code,
    `Job ${job} is deleted, but not all of it is removed: ${error.message}; delete it again to remove the rest`,
    { outcome: "applied", details: error.details, cause: error },
  );
}

async function carryOut(options: JobDeleteOptions): Promise<JobDeletion> {
  const { place, ports, signal } = options;
  const newest = await checkThere(place);
  signal?.throwIfAborted();
  const owner = await OwnerKey.takeFrom(newest.epoch + 1, { ...place, ports });
  try {
    const catalog = new Catalog(place, ports, newest);
    catalog.publishAs(owner);
    let checkpoints = 0;
    await catalog.publish((found = newest) => {
      checkpoints = found.checkpoints.length;
      return emptyGeneration("deleted", found, owner.epoch);
    });
    const swept = await sweep(options, owner).catch((error) => {
      throw deletedAllTheSame(place, error);
    });
    const { job } = place.keys;
    const { deletedObjects, problems } = swept;
    ports.logger.log("warning", "Deleted a job", { job, checkpoints, deletedObjects, problems });
    return { job, checkpoints, ...swept };
  } finally {
    await letGo(options, owner);
  }
}
