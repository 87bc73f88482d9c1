/**
 * Reads changes back, in order within each writer, and ends with a trailer.
 * Owns: the order, filters, count and hash. Does not own: what is to be read.
 * @module
 */
import { Xxh64 } from "../../../wasm/mod.ts";
import { TidemarkError } from "../errors.ts";
import type { Batch } from "../format/change_file.ts";
import type { ChangeSetEntry } from "../format/change_set.ts";
import { type ChangeSlice, readBatchEndingAt } from "../format/change_file_reader.ts";
import { scanChanges } from "../format/change_scan.ts";
import type { RestoredChange, RestoredSlice, RestoreStream, RestoreTrailer } from "../types.ts";
import { filterSlice, type SliceFilter } from "./_slice_filter.ts";
import type { ChangeFilePlace } from "./local_copies.ts";
import {
  type PlannedFile,
  planRestore,
  type RestorePlan,
  type RestoreSource,
} from "./restore_plan.ts";
import { checkReread, findEntry } from "./set_places.ts";
import type { SetPlace, WriterBase } from "./tail.ts";

/** What of a restore is wanted. */
export interface RestoreFilter extends SliceFilter {
  /** @default every writer */
  readonly writers?: readonly string[];
  readonly signal?: AbortSignal;
}

/** A restore in progress. */
export class ChangelogRestore implements RestoreStream {
  readonly trailer: Promise<RestoreTrailer>;
  readonly #place: ChangeFilePlace;
  readonly #open: () => Promise<RestoreSource>;
  readonly #filter: RestoreFilter;
  #isStarted = false;
  #resolveTrailer!: (trailer: RestoreTrailer) => void;
  #rejectTrailer!: (error: unknown) => void;

  /** @param open Finds what is to be read, when the iteration begins. */
  constructor(place: ChangeFilePlace, open: () => Promise<RestoreSource>, filter: RestoreFilter) {
    this.#place = place;
    this.#open = open;
    this.#filter = filter;
    this.trailer = new Promise((resolve, reject) => {
      this.#resolveTrailer = resolve;
      this.#rejectTrailer = reject;
    });
    // Whoever iterates gets the error; who does not ask for the trailer must not be ended by it.
    this.trailer.catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<RestoredChange> {
    for await (const { writer, firstOffset, bytes } of this.slices()) {
      const scan = scanChanges(bytes);
      for (let i = 0; i < scan.count; i++) {
        const data = scan.data(i).slice();
        yield { writer, offset: firstOffset + i, keyGroup: scan.keyGroup(i), data };
      }
    }
  }

  async *slices(): AsyncGenerator<RestoredSlice> {
    if (this.#isStarted) throw new TypeError("Cannot iterate a restore twice: begin another");
    this.#isStarted = true;
    let outcome: unknown = new TidemarkError("aborted", "The restore was left before its end");
    let source: RestoreSource | undefined;
    try {
      source = await this.#open();
      const hash = new Xxh64();
      let count = 0;
      let confirmed = 0;
      for await (const slice of this.#read(source)) {
        source.check?.();
        hash.update(slice.bytes);
        count += slice.count;
        confirmed += countConfirmed(source, slice);
        yield slice;
      }
      outcome = undefined;
      this.#resolveTrailer({
        count,
        hash: hash.digest().toString(16).padStart(16, "0"),
        confirmed,
      });
    } catch (error) {
      outcome = await source?.explain?.(error) ?? error;
      throw outcome;
    } finally {
      if (outcome !== undefined) this.#rejectTrailer(outcome);
      await source?.release?.();
    }
  }

  async *#read(source: RestoreSource): AsyncGenerator<RestoredSlice> {
    const { signal, writers = [...source.writers.keys()] } = this.#filter;
    for (const writer of writers) {
      if (source.writers.has(writer)) continue;
      throw new TidemarkError(
        "writer-not-found",
        `Cannot restore writer ${writer}: ${source.neededBy} has ${
          source.writers.size === 0
            ? "no writer"
            : `writers ${[...source.writers.keys()].join(", ")}`
        }`,
        { details: { writer } },
      );
    }
    const plan = await planRestore(this.#place, source, { writers: new Set(writers), signal });
    const cursor = new RestoreCursor(plan, source, writers);
    for await (const slice of cursor.slices(signal)) yield* filterSlice(slice, this.#filter);
    cursor.checkEnd();
  }
}

/** How many changes of a slice are known to be acknowledged: all of them, unless a tail's end is not. */
function countConfirmed(
  source: RestoreSource,
  { writer, firstOffset, count }: RestoredSlice,
): number {
  const known = source.confirmed.get(writer) ?? Infinity;
  return Math.min(count, Math.max(0, known - firstOffset));
}

const BEGINNING: WriterBase = { sequenceNumber: 0, offset: 0 };

/** Walks a plan file by file, and holds back the sets that come before their turn. */
class RestoreCursor {
  readonly #plan: RestorePlan;
  readonly #source: RestoreSource;
  /** Number of each writer's next set. */
  readonly #next = new Map<string, number>();
  readonly #nextOffsets = new Map<string, number>();
  readonly #files = new Map<string, PlannedFile>();

  constructor(plan: RestorePlan, source: RestoreSource, writers: readonly string[]) {
    this.#plan = plan;
    this.#source = source;
    for (const writer of writers) {
      const { sequenceNumber, offset } = source.writers.get(writer)!.base ?? BEGINNING;
      this.#next.set(writer, sequenceNumber);
      this.#nextOffsets.set(writer, offset);
    }
    for (const file of plan.files) this.#files.set(file.file.key, file);
  }

  async *slices(signal: AbortSignal | undefined): AsyncGenerator<RestoredSlice> {
    for (const file of this.#plan.files) {
      for (const batchEnd of file.batches.keys()) {
        signal?.throwIfAborted();
        yield* this.#readBatch(file, batchEnd);
      }
      file.source.rest();
    }
  }

  /** Every writer must have come to its end. @throws {TidemarkError} `corrupt` */
  checkEnd(): void {
    for (const [writer, next] of this.#next) {
      const { sequenceNumber, nextOffset } = this.#source.writers.get(writer)!;
      if (next >= sequenceNumber) {
        this.#checkOffset(writer, nextOffset);
        continue;
      }
      throw new TidemarkError(
        "corrupt",
        `Cannot restore writer ${writer}: change set ${next} of ${sequenceNumber} is in none of the files that ${this.#source.neededBy} needs`,
        { details: { writer, sequenceNumber: next, wanted: sequenceNumber } },
      );
    }
  }

  async *#readBatch(planned: PlannedFile, batchEnd: number): AsyncGenerator<RestoredSlice> {
    const batch = await this.#readIndex(planned, batchEnd);
    const isHere = (entry: ChangeSetEntry) => {
      const place = this.#placeOf(entry);
      if (place?.file.key !== planned.file.key || place.batchEnd !== batchEnd) return false;
      return place.entry.epoch === entry.epoch;
    };
    // In body order a writer's sets stand in their order, unless an earlier one failed and was written again later.
    const inTurn: ChangeSetEntry[] = [];
    const expected = new Map<string, number>();
    for (const entry of batch.sets) {
      if (!isHere(entry)) continue;
      const next = expected.get(entry.writer) ?? this.#next.get(entry.writer)!;
      if (entry.sequenceNumber !== next) continue;
      inTurn.push(entry);
      expected.set(entry.writer, next + 1);
    }
    for await (const slice of planned.source.sets(batch, inTurn)) {
      this.#next.set(slice.entry.writer, slice.entry.sequenceNumber + 1);
      yield this.#take(slice);
    }
    for (const writer of expected.keys()) yield* this.#catchUp(writer, planned.file, batchEnd);
  }

  /** Reads sets that were passed by before their turn. */
  async *#catchUp(
    writer: string,
    file: PlannedFile["file"],
    batchEnd: number,
  ): AsyncGenerator<RestoredSlice> {
    const { sequenceNumber: end } = this.#source.writers.get(writer)!;
    for (let next = this.#next.get(writer)!; next < end; next++) {
      const place = this.#plan.places.get(writer, next);
      if (place === undefined || !isPassed(place, file, batchEnd)) return;
      const planned = this.#files.get(place.file.key)!;
      const batch = await this.#readIndex(planned, place.batchEnd);
      for await (const slice of planned.source.sets(batch, [findEntry(batch.sets, place)])) {
        yield this.#take(slice);
      }
      this.#next.set(writer, next + 1);
    }
  }

  /** Reads a batch's index once more: it must be the one that was found. */
  #readIndex({ source, batches }: PlannedFile, batchEnd: number): Promise<Batch> {
    return source.attempt(async () => {
      const batch = await readBatchEndingAt(source, batchEnd);
      checkReread(batches.get(batchEnd)!, batch.indexHash);
      return batch;
    });
  }

  #take({ entry, firstOffset, count, bytes }: ChangeSlice): RestoredSlice {
    const { writer } = entry;
    this.#checkOffset(writer, firstOffset);
    this.#nextOffsets.set(writer, firstOffset + count);
    return { writer, firstOffset, count, bytes };
  }

  /** No hole and no duplicate, also where the sets' numbers have none. */
  #checkOffset(writer: string, found: number): void {
    const wanted = this.#nextOffsets.get(writer)!;
    if (found === wanted) return;
    const next = this.#next.get(writer);
    throw new TidemarkError(
      "corrupt",
      `Cannot restore writer ${writer} of ${this.#source.neededBy}: before change set ${next} it goes on at offset ${found}, not ${wanted}`,
      { details: { writer, sequenceNumber: next, found, wanted } },
    );
  }

  #placeOf(entry: ChangeSetEntry): SetPlace | undefined {
    const end = this.#source.writers.get(entry.writer);
    if (end === undefined || entry.sequenceNumber >= end.sequenceNumber) return undefined;
    return this.#next.has(entry.writer)
      ? this.#plan.places.get(entry.writer, entry.sequenceNumber)
      : undefined;
  }
}

function isPassed(place: SetPlace, file: PlannedFile["file"], batchEnd: number): boolean {
  const { epoch, number } = place.file.name;
  if (epoch !== file.name.epoch) return epoch < file.name.epoch;
  if (number !== file.name.number) return number < file.name.number;
  return place.batchEnd <= batchEnd;
}
