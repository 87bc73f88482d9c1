/**
 * Which change sets a restore reads, and where from: of every file that holds something needed, walked backwards
 * from the length up to which it is needed.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ChangeFileHeader } from "../format/change_file.ts";
import { batchesBackwards, readHeader } from "../format/change_file_reader.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { type ChangeFileSource, openChangeFile } from "./change_file_source.ts";
import { compareFiles } from "./file_order.ts";
import { SetPlaces } from "./set_places.ts";
import type { NeededFile, WriterEnd } from "./tail.ts";

/** What is to be read back: files, and where each writer ends. */
export interface RestoreSource {
  readonly files: readonly NeededFile[];
  readonly writers: ReadonlyMap<string, WriterEnd>;
  /** Per writer, the offset below which every change is known to be acknowledged. */
  readonly confirmed: ReadonlyMap<string, number>;
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
  readonly source: ChangeFileSource;
  readonly file: NeededFile;
  /** Where the batches end, in file order. */
  readonly batchEnds: readonly number[];
}

/** What a restore reads, in order. */
export interface RestorePlan {
  readonly files: readonly PlannedFile[];
  readonly places: SetPlaces;
}

/**
 * Finds the change sets of the wanted writers.
 *
 * @throws {TidemarkError} `changes-lost`, `corrupt`
 */
export async function planRestore(
  backend: StorageBackend,
  wanted: RestoreSource,
  options: { readonly writers: ReadonlySet<string>; readonly signal?: AbortSignal },
): Promise<RestorePlan> {
  const places = new SetPlaces();
  const files: PlannedFile[] = [];
  for (const file of [...wanted.files].sort((a, b) => compareFiles(a.name, b.name))) {
    options.signal?.throwIfAborted();
    const source = await openChangeFile(backend, file.key, {
      length: file.length,
      neededBy: wanted.neededBy,
      signal: options.signal,
    });
    const header = await readHeader(source);
    checkFile(file, header.header, wanted);
    const batchEnds: number[] = [];
    for await (const batch of batchesBackwards(source, file.length, header)) {
      checkIndexHash(file, batch.end, batch.indexHash);
      let isNeeded = false;
      for (const entry of batch.sets) {
        const end = wanted.writers.get(entry.writer);
        if (!options.writers.has(entry.writer) || end === undefined) continue;
        if (entry.sequenceNumber >= end.sequenceNumber) continue;
        if (entry.sequenceNumber < (end.base?.sequenceNumber ?? 0)) continue;
        const { position: batchStart, end: batchEnd, indexHash } = batch;
        places.add({ entry, file, batchStart, batchEnd, indexHash, isUnproven: false });
        isNeeded = true;
      }
      if (isNeeded) batchEnds.push(batch.end);
    }
    files.push({ source, file, batchEnds: batchEnds.reverse() });
  }
  await places.checkCopies(backend);
  return { files, places };
}

function checkFile(file: NeededFile, header: ChangeFileHeader, wanted: RestoreSource): void {
  const { store, job } = wanted;
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

function checkIndexHash(file: NeededFile, end: number, found: bigint): void {
  const { key, length, indexHash } = file;
  if (end !== length || indexHash === found) return;
  throw new TidemarkError(
    "corrupt",
    `Cannot use ${key}: the batch index that ends at byte ${end} is not the one that was checkpointed`,
    { details: { key, to: end, found: String(found), wanted: String(indexHash) } },
  );
}
