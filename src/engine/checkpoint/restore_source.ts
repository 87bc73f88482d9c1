/**
 * What a restore reads: a checkpoint's files and positions, or the tail's.
 * @module
 */
import type { RestoreSource } from "../changelog/restore_plan.ts";
import { endOfManifest } from "../changelog/writer_end.ts";
import type { FileOrigin, NeededFile, WriterEnd } from "../changelog/tail.ts";
import { parseHash } from "../format/hash_text.ts";
import type { ManifestBody } from "../format/manifest.ts";
import type { JobPlace } from "./catalog_read.ts";

/** What restoring a checkpoint reads. */
export function sourceOfCheckpoint(place: JobPlace, manifest: ManifestBody): RestoreSource {
  return {
    files: filesOfManifest(manifest),
    writers: writersOfManifest(manifest),
    states: manifest.states,
    confirmed: new Map(),
    neededBy: `checkpoint ${manifest.uuid}`,
    store: place.store,
    job: place.keys.job,
  };
}

/** What restoring a tail reads. */
export function sourceOfTail(
  place: JobPlace,
  tail: {
    readonly files: readonly NeededFile[];
    readonly writers: ReadonlyMap<string, WriterEnd>;
    readonly confirmed?: ReadonlyMap<string, number>;
  },
): RestoreSource {
  const { files, writers, confirmed = new Map() } = tail;
  return {
    files,
    writers,
    confirmed,
    neededBy: "the tail",
    store: place.store,
    job: place.keys.job,
  };
}

/** Where every writer stands in a checkpoint. */
export function writersOfManifest(manifest: ManifestBody): Map<string, WriterEnd> {
  return new Map(manifest.writers.map((stored) => [stored.writer, endOfManifest(stored)]));
}

/** The files that a checkpoint needs. */
export function filesOfManifest(manifest: ManifestBody): NeededFile[] {
  return manifest.files.map(({ key, log, epoch, number, uuid, length, indexHash, ...file }) => ({
    key,
    name: { log, epoch, number, uuid },
    length,
    indexHash: parseHash(indexHash),
    ...originOf(file, manifest),
  }));
}

/** Where a file comes from, unless it is the job's own. */
function originOf({ store, job }: FileOrigin, home: FileOrigin): { origin?: FileOrigin } {
  return store === home.store && job === home.job ? {} : { origin: { store, job } };
}

/** Every file of several lists once, up to the greatest length. */
export function joinFiles(...lists: readonly (readonly NeededFile[])[]): NeededFile[] {
  const files = new Map<string, NeededFile>();
  for (const file of lists.flat()) {
    if (file.length > (files.get(file.key)?.length ?? 0)) files.set(file.key, file);
  }
  return [...files.values()];
}
