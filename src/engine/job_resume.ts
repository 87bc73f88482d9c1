/** Finds where a resume goes, and what it leaves behind. Does not own: going there. @module */
import { type Offsets, offsetsOf, rangesBetween } from "./changelog/offset_ranges.ts";
import type { Checkpointer } from "./checkpoint/checkpointer.ts";
import { findCheckpoint, lineOf } from "./checkpoint/checkpoint_list.ts";
import { lineFrom } from "./checkpoint/fallback.ts";
import { TidemarkError } from "./errors.ts";
import type { CatalogEntry, GenerationBody } from "./format/generation.ts";
import type { ManifestBody } from "./format/manifest.ts";
import type { At, OffsetRange } from "./types.ts";

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

/**
 * Which changes are no part of the job any more after a resume: those behind the checkpoint that the line which ends
 * has in common with the one that goes on. Asked before the resume.
 *
 * @param target Where the resume goes; undefined: to nothing.
 * @param ends Where the writers stand.
 */
export async function droppedByResume(
  checkpointer: Checkpointer,
  target: ManifestBody | undefined,
  ends: Offsets,
): Promise<OffsetRange[]> {
  const { newest } = checkpointer;
  const line = lineOf(newest);
  const entry = newest.checkpoints.find(({ uuid }) => uuid === target?.uuid);
  const ancestors = entry === undefined ? [] : [...lineFrom(newest, entry)];
  if (target === undefined) return rangesBetween(new Map(), ends);
  for (const common of ancestors.filter(({ uuid }) => line.has(uuid))) {
    const { writers } = common === entry ? target : await readGood(checkpointer, common) ?? {};
    if (writers !== undefined) return rangesBetween(offsetsOf(writers), ends);
  }
  return rangesBetween(new Map(), ends);
}

/** One that is damaged must not keep a job from going on from another: what is dropped is told from an older one. */
async function readGood(
  checkpointer: Checkpointer,
  entry: CatalogEntry,
): Promise<ManifestBody | undefined> {
  try {
    return await checkpointer.readManifest(entry);
  } catch (error) {
    if (error instanceof TidemarkError && error.kind === "corrupt") return undefined;
    throw error;
  }
}
