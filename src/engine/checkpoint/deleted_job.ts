/**
 * A job that is not there: its newest generation says that it was deleted, or is being imported. A new job of that name
 * counts on from there (DESIGN, protocol *Open and fence*).
 * Owns: telling such a job, removing what lies beside that generation. Does not own: who may delete or import, when.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { GenerationBody } from "../format/generation.ts";
import type { Ports } from "../port/ports.ts";
import { deleteAll } from "../storage/delete_all.ts";
import type { JobDeletion, Problem, Progress } from "../types.ts";
import type { JobPlace } from "./catalog_read.ts";

/** Whether a job's newest generation says that it was deleted. */
export function isDeleted({ reason }: Pick<GenerationBody, "reason">): boolean {
  return reason === "deleted";
}

/** Whether a job is being imported, or an import of it was stopped: what is there of it is nobody's. */
export function isImporting({ reason }: Pick<GenerationBody, "reason">): boolean {
  return reason === "importing";
}

/** Whether a job's name is free. */
export function isFree(newest: GenerationBody | undefined): boolean {
  return newest === undefined || isDeleted(newest) || isImporting(newest);
}

/** Refuses a job that is not there. @throws {TidemarkError} `job-not-found`, `import-unfinished` */
export function checkThere<Generation extends GenerationBody>(
  place: JobPlace,
  newest: Generation | undefined,
  nextStep?: string,
): Generation {
  if (newest === undefined || isDeleted(newest)) throw jobNotFound(place, nextStep);
  checkImported(place, newest);
  return newest;
}

/** @throws {TidemarkError} `import-unfinished` */
export function checkImported({ keys }: JobPlace, newest: GenerationBody | undefined): void {
  if (newest !== undefined && isImporting(newest)) throw importUnfinished(keys.job);
}

/** The error of a job of which not all is there. */
export function importUnfinished(job: string): TidemarkError {
  return new TidemarkError(
    "import-unfinished",
    `Cannot use job ${job}: it is being imported, or an import of it was stopped; wait, import it again, or delete it`,
    { details: { job } },
  );
}

/** The error of a job that is not there. */
export function jobNotFound(
  { backend, keys: { job } }: JobPlace,
  nextStep = "list the jobs to see which there are",
): TidemarkError {
  const message = `There is no job ${job} in ${backend.location}: ${nextStep}`;
  return new TidemarkError("job-not-found", message, { details: { job } });
}

/** What stands in the way of a sweep, and who hears of it. */
export interface SweepOptions {
  /** Throws when the job has another owner: asked before each object. */
  readonly checkOwner: () => void;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** What was removed of a deleted job. */
export type SweptJob = Pick<JobDeletion, "deletedObjects" | "deletedBytes" | "problems">;

/**
 * Removes what is left of a job that is not there. Called by an owner, while the newest generation says so; it may be
 * stopped anywhere, and begun again by the next owner.
 */
export async function sweepDeleted(
  place: JobPlace,
  { checkOwner, signal, onProgress }: SweepOptions,
): Promise<SweptJob> {
  const sizes = await leftOf(place);
  const total = sizes.size;
  let done = 0;
  const check = (): void => {
    signal?.throwIfAborted();
    checkOwner();
    onProgress?.({ phase: "delete", done, total });
    done += 1;
  };
  const failed = await deleteAll(place.backend, [...sizes.keys()], check);
  for (const { key } of failed) sizes.delete(key);
  return {
    deletedObjects: sizes.size,
    deletedBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    problems: failed.map(({ key, error }): Problem => ({ key, reason: error.message })),
  };
}

/** Every object that goes, with its size: all but the newest generation, owner keys, and what is not the engine's. */
export async function leftOf({ backend, keys }: JobPlace): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  const prefixes = [
    keys.changelogPrefix,
    keys.statesPrefix,
    keys.checkpointsPrefix,
    keys.adoptedPrefix,
    keys.readersPrefix,
  ];
  for (const prefix of prefixes) {
    for await (const { key, size } of backend.list(prefix)) {
      if (keys.isOwn(key) || keys.isReader(key)) sizes.set(key, size);
    }
  }
  const generations: { key: string; size: number; number: number }[] = [];
  for await (const { key, size } of backend.list(keys.catalogPrefix)) {
    const number = keys.parseGeneration(key);
    if (number !== undefined) generations.push({ key, size, number });
  }
  generations.sort((a, b) => a.number - b.number);
  for (const { key, size } of generations.slice(0, -1)) sizes.set(key, size);
  return sizes;
}

/** Closes what nothing depends on any more: that it fails changes nothing of what was done. */
export async function letGo(
  { place, ports: { logger } }: { readonly place: JobPlace; readonly ports: Pick<Ports, "logger"> },
  held: { close(): Promise<void> } | undefined,
): Promise<void> {
  const { job } = place.keys;
  await held?.close().catch((error) =>
    logger.log("warning", "Cannot let go of what a job was held by", { job, error })
  );
}
