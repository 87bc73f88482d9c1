/**
 * Which change sets a restore reads, and where from: of every file that holds something needed, walked backwards
 * from the length up to which it is needed.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ChangeFileHeader } from "../format/change_file.ts";
import { batchesBackwards, readHeader } from "../format/change_file_reader.ts";
import type { ManifestState } from "../format/manifest.ts";
import { compareFiles } from "./file_order.ts";
import { type ChangeFilePlace, RestoredFile } from "./local_copies.ts";
import { SetPlaces } from "./set_places.ts";
import type { BatchPlace, NeededFile, WriterEnd } from "./tail.ts";

/** What is to be read back: files, and where each writer ends. */
export interface RestoreSource {
  readonly files: readonly NeededFile[];
  readonly writers: ReadonlyMap<string, WriterEnd>;
  /** Per writer, the offset below which every change is known to be acknowledged. */
  readonly confirmed: ReadonlyMap<string, number>;
  /** State objects of the checkpoint. @default none */
  readonly states?: readonly ManifestState[];
  /** What needs the files, for messages. */
  readonly neededBy: string;
  readonly store: string;
  readonly job: string;
  /** Asked between slices: throws when what is read may be gone. @default it stays */
  readonly check?: () => void;
  /** Gives the error that tells best what an error means. @default the error itself */
  readonly explain?: (error: unknown) => Promise<unknown>;
  /** Called once, when the restore has ended. @default nothing is held */
  readonly release?: () => Promise<void> | void;
}

/** A file of a plan: which of its batches hold something that counts. */
export interface PlannedFile {
  readonly source: RestoredFile;
  readonly file: NeededFile;
  /** Batches that hold wanted sets, by where they end, in file order. */
  readonly batches: ReadonlyMap<number, BatchPlace>;
}

/** What a restore reads, in order. */
export interface RestorePlan {
  readonly files: readonly PlannedFile[];
  readonly places: SetPlaces;
}

/** Which writers' sets are planned. */
export interface PlanOptions {
  readonly writers: ReadonlySet<string>;
  readonly signal?: AbortSignal;
}

/**
 * Finds the change sets of the wanted writers.
 *
 * @throws {TidemarkError} `changes-lost`, `corrupt`
 */
export async function planRestore(
  place: ChangeFilePlace,
  wanted: RestoreSource,
  options: PlanOptions,
): Promise<RestorePlan> {
  const places = new SetPlaces();
  const files: PlannedFile[] = [];
  const { signal } = options;
  for (const file of [...wanted.files].sort((a, b) => compareFiles(a.name, b.name))) {
    signal?.throwIfAborted();
    const { neededBy } = wanted;
    const source = await RestoredFile.open(place, file.key, {
      length: file.length,
      neededBy,
      signal,
    });
    const found = await source.attempt(() =>
      planFile(source, file, wanted, { ...options, places })
    );
    // Only one file's bytes are held at a time.
    source.rest();
    const batches = new Map(found.reverse().map((batch) => [batch.batchEnd, batch]));
    files.push({ source, file, batches });
  }
  await places.checkCopies(place.backend);
  return { files, places };
}

/** Finds the wanted sets of a file, from the last batch on; answers the batches that hold any, the newest first. */
async function planFile(
  source: RestoredFile,
  file: NeededFile,
  wanted: RestoreSource,
  { writers, places }: PlanOptions & { readonly places: SetPlaces },
): Promise<BatchPlace[]> {
  const header = await readHeader(source);
  checkHeader(file, header.header, wanted);
  const found: BatchPlace[] = [];
  for await (const batch of batchesBackwards(source, file.length, header)) {
    checkIndexHash(file, batch.end, batch.indexHash);
    const { position: batchStart, end: batchEnd, indexHash } = batch;
    const place = { file, batchStart, batchEnd, indexHash, isUnproven: false };
    for (const entry of batch.sets) {
      const end = wanted.writers.get(entry.writer);
      if (!writers.has(entry.writer) || end === undefined) continue;
      if (entry.sequenceNumber >= end.sequenceNumber) continue;
      if (entry.sequenceNumber < (end.base?.sequenceNumber ?? 0)) continue;
      places.add(entry, place);
      if (found.at(-1) !== place) found.push(place);
    }
  }
  return found;
}

/** Checks that a file is the one that is needed. @throws {TidemarkError} `corrupt` */
export function checkHeader(
  file: NeededFile,
  header: ChangeFileHeader,
  wanted: RestoreSource,
): void {
  const { store, job } = file.origin ?? wanted;
  const named = { ...file.name, store, job };
  for (const what of ["store", "job", "log", "epoch", "number", "uuid"] as const) {
    if (header[what] === named[what]) continue;
    throw new TidemarkError(
      "corrupt",
      `Cannot use ${file.key}: its header says ${what} ${header[what]}, not ${
        named[what]
      }; it belongs elsewhere`,
      { details: { key: file.key, what, found: header[what], wanted: named[what] } },
    );
  }
}

/** Checks the batch at which the need ends. @throws {TidemarkError} `corrupt` */
export function checkIndexHash(file: NeededFile, end: number, found: bigint): void {
  const { key, length, indexHash } = file;
  if (end !== length || indexHash === found) return;
  throw new TidemarkError(
    "corrupt",
    `Cannot use ${key}: the batch index that ends at byte ${end} is not the one that was checkpointed`,
    { details: { key, to: end, found: String(found), wanted: String(indexHash) } },
  );
}
