/**
 * Checkpoints as people see them, from a generation and a manifest.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { FORMAT_VERSION } from "../limits.ts";
import type { CatalogEntry, GenerationBody } from "../format/generation.ts";
import type { ManifestBody } from "../format/manifest.ts";
import type { At, CheckpointDetails, CheckpointMetadata } from "../types.ts";
import { stateMetadata } from "./state_read.ts";

/** Uuids of `head` and its ancestors. */
export function lineOf({ head, checkpoints }: GenerationBody): ReadonlySet<string> {
  const parents = new Map(checkpoints.map(({ uuid, parent }) => [uuid, parent]));
  const line = new Set<string>();
  for (let uuid = head; uuid !== null && !line.has(uuid); uuid = parents.get(uuid) ?? null) {
    line.add(uuid);
  }
  return line;
}

/** Every published checkpoint, oldest first. */
export function listCheckpoints(generation: GenerationBody): CheckpointMetadata[] {
  const line = lineOf(generation);
  return generation.checkpoints.map((entry) => toMetadata(entry, generation, line));
}

function toMetadata(
  entry: CatalogEntry,
  { head }: GenerationBody,
  line: ReadonlySet<string>,
): CheckpointMetadata {
  return {
    uuid: entry.uuid,
    identifier: entry.identifier ?? undefined,
    fingerprint: entry.fingerprint,
    size: entry.size,
    steps: entry.steps ?? undefined,
    processedRecords: entry.processedRecords ?? undefined,
    parent: entry.parent ?? undefined,
    createdAtMs: entry.createdAtMs,
    epoch: entry.epoch,
    run: entry.run,
    idempotencyKey: entry.idempotency?.key,
    isHead: entry.uuid === head,
    isAbandoned: !line.has(entry.uuid),
    pin: entry.pin ?? undefined,
    quarantinedAtMs: entry.quarantinedAtMs ?? undefined,
  };
}

/** A checkpoint with what its manifest says. */
export function toDetails(generation: GenerationBody, manifest: ManifestBody): CheckpointDetails {
  const listed = listCheckpoints(generation).find(({ uuid }) => uuid === manifest.uuid)!;
  return {
    ...listed,
    metadata: manifest.metadata,
    engineVersion: manifest.engineVersion,
    // Of another one nothing could be read.
    formatVersion: FORMAT_VERSION,
    writers: manifest.writers.map((
      { writer, keyGroups, nextOffset, sequenceNumber, isClosed },
    ) => ({ writer, keyGroups, nextOffset, sequenceNumber, ...(isClosed ? { isClosed } : {}) })),
    files: manifest.files.map(({ key, length }) => ({ key, length })),
    states: manifest.states.map(stateMetadata),
  };
}

/**
 * Finds a published checkpoint: `latest` is `head`.
 *
 * @throws {TidemarkError} `checkpoint-not-found`
 */
export function findCheckpoint(generation: GenerationBody, at: At): CatalogEntry {
  const uuid = at === "latest" ? generation.head : at;
  const entry = generation.checkpoints.find((entry) => entry.uuid === uuid);
  if (entry !== undefined) return entry;
  const { job } = generation;
  throw new TidemarkError(
    "checkpoint-not-found",
    at === "latest"
      ? `Job ${job} has no checkpoint to go on from: make one, or read its tail`
      : `Job ${job} has no checkpoint ${at}: list them to see which there are`,
    { details: { job, at } },
  );
}
