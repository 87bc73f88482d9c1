/**
 * Finds the newest checkpoint that can be read whole: the one that is wanted, or the next older one of its line.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import type { Logger } from "../port/logger.ts";
import type { At, Problem } from "../types.ts";
import type { JobPlace } from "./catalog_read.ts";
import { findCheckpoint } from "./checkpoint_list.ts";
import { verifyCheckpoint } from "./verify.ts";

/**
 * Walks from a checkpoint to its ancestors until one is whole. Every one that is passed by is logged with its reason.
 *
 * @throws {TidemarkError} `checkpoint-not-found`; `corrupt`: none is whole, with a reason per checkpoint.
 */
export async function findWhole(
  place: JobPlace,
  generation: GenerationBody,
  at: At,
  logger: Logger,
): Promise<CatalogEntry> {
  const reasons: { uuid: string; problems: readonly Problem[] }[] = [];
  for (const entry of lineFrom(generation, findCheckpoint(generation, at))) {
    const problems = await verifyCheckpoint(place, entry);
    if (problems.length === 0) return entry;
    reasons.push({ uuid: entry.uuid, problems });
    logger.log("error", "A checkpoint can't be read: falling back to an older one", {
      job: place.keys.job,
      uuid: entry.uuid,
      problems,
    });
  }
  const told = reasons.map(({ uuid, problems }) => `${uuid}: ${problems[0].reason}`);
  throw new TidemarkError(
    "corrupt",
    `Cannot find a checkpoint of job ${place.keys.job} that is whole: ${told.join("; ")}`,
    { details: { job: place.keys.job, checkpoints: reasons } },
  );
}

/** A checkpoint and its ancestors, newest first. */
export function* lineFrom(
  { checkpoints }: GenerationBody,
  first: CatalogEntry,
): Generator<CatalogEntry> {
  const entries = new Map(checkpoints.map((entry) => [entry.uuid, entry]));
  for (let next: CatalogEntry | undefined = first; next !== undefined;) {
    yield next;
    next = next.parent === null ? undefined : entries.get(next.parent);
  }
}
