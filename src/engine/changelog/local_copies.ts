/**
 * Reads change files from their local copies first, and from the main files where a copy is missing, short or bad.
 * Owns: which of the two is read, and that what was read of a bad copy is read again.
 * Does not own: checksums, making copies.
 * @module
 */
import type { ByteSource } from "../format/byte_source.ts";
import { type ChangeSlice, readSets } from "../format/change_file_reader.ts";
import type { Batch } from "../format/change_file.ts";
import { scanChanges } from "../format/change_scan.ts";
import type { ChangeSetEntry } from "../format/change_set.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { ChangeFileSource, openChangeFile } from "./change_file_source.ts";

/** Where local copies are, each under its file's key. */
export interface LocalCopies {
  readonly backend: StorageBackend;
  /** Whether nothing is to be asked of the place any more. @default false */
  readonly isLeft?: boolean;
  /** A copy can't be used any further; told once for each time that a file is opened. */
  onFallback(key: string, error: unknown): void;
}

/** Where change files are read from. */
export interface ChangeFilePlace {
  readonly backend: StorageBackend;
  /** @default none */
  readonly local?: LocalCopies;
}

/** What of a change file is needed, and by whom. */
export interface NeededPart {
  readonly length: number;
  readonly neededBy: string;
  readonly signal?: AbortSignal;
}

/** A change file that is read from its local copy, or from the main file. */
export class RestoredFile implements ByteSource {
  readonly key: string;
  readonly size: number;
  readonly #place: ChangeFilePlace;
  readonly #part: NeededPart;
  #source: ChangeFileSource;
  #isLocal: boolean;

  private constructor(
    place: ChangeFilePlace,
    part: NeededPart,
    from: { readonly source: ChangeFileSource; readonly isLocal: boolean },
  ) {
    this.#place = place;
    this.#part = part;
    this.#source = from.source;
    this.#isLocal = from.isLocal;
    this.key = from.source.key;
    this.size = from.source.size;
  }

  /**
   * Opens a file that must be there. Its copy is taken when it is long enough.
   *
   * @throws {TidemarkError} `changes-lost` when neither is there.
   */
  static async open(place: ChangeFilePlace, key: string, part: NeededPart): Promise<RestoredFile> {
    const copy = await findCopy(place, key, part);
    if (copy !== undefined) return new RestoredFile(place, part, { source: copy, isLocal: true });
    const source = await openChangeFile(place.backend, key, part);
    return new RestoredFile(place, part, { source, isLocal: false });
  }

  read(from: number, to: number): Promise<Uint8Array> {
    return this.#read(to, (source) => source.read(from, to), ({ length }) => length === to - from);
  }

  readInto(target: Uint8Array, from: number): Promise<number> {
    const { length } = target;
    return this.#read(
      from + length,
      (source) => source.readInto(target, from),
      (count) => count === length,
    );
  }

  /** Reads up to `to`, once more from the main file when the copy fails or is too short. */
  async #read<Result>(
    to: number,
    read: (source: ChangeFileSource) => Promise<Result>,
    isWhole: (result: Result) => boolean,
  ): Promise<Result> {
    const source = this.#source;
    try {
      const result = await read(source);
      if (isWhole(result) || !this.#isLocal) return result;
      await this.#leave(source, new Error(`It ends before byte ${to}`));
    } catch (error) {
      await this.#leaveOr(source, error);
    }
    return await read(this.#source);
  }

  /** Lets go of what is held in memory; it is read again when it is asked for. */
  rest(): void {
    this.#source.rest();
  }

  /** Runs an action, once more from the main file when what it read of the copy is bad. */
  async attempt<Result>(action: () => Promise<Result>): Promise<Result> {
    const source = this.#source;
    try {
      return await action();
    } catch (error) {
      await this.#leaveOr(source, error);
      return await action();
    }
  }

  /**
   * Reads change sets of a batch as `readSets` does, going on in the main file where the copy is bad. What was returned
   * from the copy is not returned again: its checksums held.
   */
  async *sets(batch: Batch, sets: readonly ChangeSetEntry[]): AsyncGenerator<ChangeSlice> {
    let at = 0;
    let nextOffset = 0;
    for (;;) {
      const source = this.#source;
      try {
        for await (const slice of readSets(this, batch, sets.slice(at))) {
          const { entry, firstOffset, count } = slice;
          if (entry !== sets[at]) {
            at = sets.indexOf(entry, at);
            nextOffset = entry.firstOffset;
          }
          const returned = Math.max(0, nextOffset - firstOffset);
          if (returned >= count) continue;
          yield returned > 0 ? withoutFirst(slice, returned) : slice;
          nextOffset = firstOffset + count;
        }
        return;
      } catch (error) {
        await this.#leaveOr(source, error);
      }
    }
  }

  /** Goes over to the main file, or throws what the main file is the reason of. */
  async #leaveOr(source: ChangeFileSource, error: unknown): Promise<void> {
    if (!this.#isLocal && this.#source === source) throw error;
    if (this.#part.signal?.aborted) throw error;
    await this.#leave(source, error);
  }

  async #leave(source: ChangeFileSource, error: unknown): Promise<void> {
    if (this.#source !== source) return;
    const main = await openChangeFile(this.#place.backend, this.key, this.#part);
    // Another read may have gone over meanwhile.
    if (this.#source !== source) return;
    this.#source = main;
    this.#isLocal = false;
    this.#place.local!.onFallback(this.key, error);
  }
}

async function findCopy(
  { local }: ChangeFilePlace,
  key: string,
  { length, signal }: NeededPart,
): Promise<ChangeFileSource | undefined> {
  if (local === undefined || local.isLeft) return undefined;
  try {
    const info = await local.backend.head(key);
    if (info === undefined) return undefined;
    if (info.size >= length) return new ChangeFileSource(local.backend, key, length, signal);
    local.onFallback(key, new Error(`It has ${info.size} bytes of ${length}`));
  } catch (error) {
    local.onFallback(key, error);
  }
  return undefined;
}

/** A slice without its first changes. */
function withoutFirst(slice: ChangeSlice, skipped: number): ChangeSlice {
  const start = scanChanges(slice.bytes).itemStart(skipped);
  return {
    entry: slice.entry,
    firstOffset: slice.firstOffset + skipped,
    count: slice.count - skipped,
    bytes: slice.bytes.subarray(start),
  };
}
