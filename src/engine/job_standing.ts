/**
 * Where a job stands, read from outside: beside its owner, without taking anything.
 * @module
 */
import { type JobPlace, readNewestGeneration } from "./checkpoint/catalog_read.ts";
import { isDeleted, jobNotFound } from "./checkpoint/deleted_job.ts";
import type { Ports } from "./port/ports.ts";
import { readLockHolder } from "./storage/lock_holder.ts";
import type { JobStanding } from "./types.ts";

/** Reads the newest generation and the lock. @throws {TidemarkError} `job-not-found`, `catalog-lost` */
export async function readJobStanding(
  place: JobPlace,
  { clock }: Pick<Ports, "clock">,
): Promise<JobStanding> {
  const newest = await readNewestGeneration(place);
  if (newest === undefined || isDeleted(newest)) throw jobNotFound(place);
  const { number: generation, epoch, run, head } = newest;
  const owner = await readLockHolder(place.backend, place.keys.lock, clock.nowMs());
  let changeBytes = 0;
  for await (const { size } of place.backend.list(place.keys.changelogPrefix)) changeBytes += size;
  const known = owner === undefined ? {} : { owner };
  return { generation, epoch, run, head, changeBytes, ...known };
}
