/** Finds where a resume goes. Does not own: going there. @module */
import { findCheckpoint } from "./checkpoint/checkpoint_list.ts";
import { TidemarkError } from "./errors.ts";
import type { CatalogEntry, GenerationBody } from "./format/generation.ts";
import type { At } from "./types.ts";

/** Where a resume goes: the tail, a checkpoint, or nothing when `latest` has none. */
export interface ResumePlan {
  readonly at: "tail" | "checkpoint" | "nothing";
  readonly entry?: CatalogEntry;
}

/**
 * Finds where a resume goes, and refuses a checkpoint of another pipeline.
 *
 * @throws {TidemarkError} `checkpoint-not-found`, `fingerprint-mismatch`
 */
export function planResume(
  generation: GenerationBody,
  at: At,
  acceptFingerprints: readonly bigint[],
): ResumePlan {
  if (at === "tail") return { at: "tail" };
  if (at === "latest" && generation.head === null) return { at: "nothing" };
  const entry = findCheckpoint(generation, at);
  const { fingerprint, job } = generation;
  if (entry.fingerprint === fingerprint || acceptFingerprints.includes(entry.fingerprint)) {
    return { at: "checkpoint", entry };
  }
  throw new TidemarkError(
    "fingerprint-mismatch",
    `Cannot resume job ${job} at checkpoint ${entry.uuid}: its fingerprint is ${entry.fingerprint}, the job's ${fingerprint}; accept ${entry.fingerprint} explicitly if the pipeline can read it`,
    { details: { job, uuid: entry.uuid, found: entry.fingerprint, wanted: fingerprint } },
  );
}
