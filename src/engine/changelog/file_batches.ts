/**
 * The batches of one change file, by number.
 * Owns: finding them, and that they are the file's. Does not own: which sets are wanted.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Batch } from "../format/change_file.ts";
import { batchesBackwards, readBatchEndingAt, readHeader } from "../format/change_file_reader.ts";
import type { ChangeSetEntry } from "../format/change_set.ts";
import type { RestoredSlice } from "../types.ts";
import { type ChangeFilePlace, RestoredFile } from "./local_copies.ts";
import { checkHeader, checkIndexHash, type RestoreSource } from "./restore_plan.ts";

/** Where a batch ends, and the checksum of its index. */
interface BatchEnd {
  readonly end: number;
  readonly indexHash: bigint;
}

/** What {@link FileBatches.open} looks for. */
export interface FileBatchesOptions {
  readonly signal: AbortSignal;
  /** Numbers of the batches. @default all */
  readonly batches?: ReadonlySet<number>;
}

/** A change file whose batches were found. */
export class FileBatches {
  readonly #file: RestoredFile;
  readonly #ends: ReadonlyMap<number, BatchEnd>;

  private constructor(file: RestoredFile, ends: ReadonlyMap<number, BatchEnd>) {
    this.#file = file;
    this.#ends = ends;
  }

  /**
   * Finds a file's batches, up to where the file is needed.
   *
   * @throws {TidemarkError} `object-not-found`: the file is none of those that may be read; `corrupt`, `changes-lost`
   */
  static async open(
    place: ChangeFilePlace,
    source: RestoreSource,
    key: string,
    options: FileBatchesOptions,
  ): Promise<FileBatches> {
    const needed = source.files.find((file) => file.key === key);
    if (needed === undefined) {
      throw new TidemarkError(
        "object-not-found",
        `Cannot read ${key}: ${source.neededBy} does not need it; read at a checkpoint that does`,
        { details: { key, neededBy: source.neededBy } },
      );
    }
    const { signal, batches } = options;
    const { length } = needed;
    const file = await RestoredFile.open(place, key, { length, neededBy: source.neededBy, signal });
    const ends = await file.attempt(async () => {
      const header = await readHeader(file);
      checkHeader(needed, header.header, source);
      const found: [number, BatchEnd][] = [];
      const least = batches === undefined ? 0 : Math.min(...batches);
      for await (const { number, end, indexHash } of batchesBackwards(file, length, header)) {
        signal.throwIfAborted();
        checkIndexHash(needed, end, indexHash);
        if (batches?.has(number) ?? true) found.push([number, { end, indexHash }]);
        if (number <= least) break;
      }
      return new Map(found.reverse());
    });
    return new FileBatches(file, ends);
  }

  /** Numbers of the batches that were found, in file order. */
  get numbers(): Iterable<number> {
    return this.#ends.keys();
  }

  /**
   * Reads sets of a batch.
   *
   * @param choose Picks sets, in the order in which they are to be returned.
   * @throws {TidemarkError} `object-not-found`: there is no such batch; `corrupt`
   */
  async *read(
    number: number,
    choose: (sets: readonly ChangeSetEntry[]) => readonly ChangeSetEntry[],
  ): AsyncGenerator<RestoredSlice> {
    const batch = await this.#readIndex(number);
    for (const run of runsInOrder(choose(batch.sets))) {
      for await (const { entry, firstOffset, count, bytes } of this.#file.sets(batch, run)) {
        yield { writer: entry.writer, firstOffset, count, bytes };
      }
    }
  }

  /** Lets go of what is held in memory. */
  rest(): void {
    this.#file.rest();
  }

  #readIndex(number: number): Promise<Batch> {
    const { key } = this.#file;
    const known = this.#ends.get(number);
    if (known === undefined) {
      throw new TidemarkError(
        "object-not-found",
        `Cannot read batch ${number} of ${key}: it has no such batch`,
        {
          details: { key, batch: number },
        },
      );
    }
    return this.#file.attempt(async () => {
      const batch = await readBatchEndingAt(this.#file, known.end);
      if (batch.indexHash === known.indexHash) return batch;
      throw new TidemarkError(
        "corrupt",
        `Cannot go on with ${key}: its batch ${number} changed while it was read`,
        { details: { key, to: known.end } },
      );
    });
  }
}

/** Splits sets where one does not stand behind the one before in their body. */
function* runsInOrder(sets: readonly ChangeSetEntry[]): Generator<readonly ChangeSetEntry[]> {
  let start = 0;
  for (let at = 1; at <= sets.length; at++) {
    if (at < sets.length && sets[at].bodyOffset > sets[at - 1].bodyOffset) continue;
    yield sets.slice(start, at);
    start = at;
  }
}
