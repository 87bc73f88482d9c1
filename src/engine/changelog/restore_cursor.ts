/**
 * Goes through the change sets of a restore, in order within each writer.
 * Owns: the order, that there is no hole and no duplicate, and that every block is read once.
 * Does not own: which of several copies of a set counts (`SetPlaces`), filters.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Batch } from "../format/change_file.ts";
import { type ChangeSlice, readBatchEndingAt } from "../format/change_file_reader.ts";
import type { ChangeSetEntry } from "../format/change_set.ts";
import type { ChangeRange, RestoredSlice } from "../types.ts";
import { mayHold } from "./slice_filter.ts";
import type { ChangeFilePlace } from "./local_copies.ts";
import {
  type PlannedFile,
  planRestore,
  type RestorePlan,
  type RestoreSource,
} from "./restore_plan.ts";
import { checkReread, findEntry } from "./set_places.ts";
import type { SetPlace, WriterBase, WriterEnd } from "./tail.ts";

const BEGINNING: WriterBase = { sequenceNumber: 0, offset: 0 };

/**
 * Plans a restore of some ranges; sets of which nothing lies in any of them are not read.
 *
 * @throws {TidemarkError} `writer-not-found`, `truncated`, `changes-lost`, `corrupt`
 */
export async function openCursor(
  place: ChangeFilePlace,
  source: RestoreSource,
  ranges: readonly ChangeRange[],
  signal?: AbortSignal,
): Promise<RestoreCursor> {
  const writers = new Set<string>();
  for (const range of ranges) {
    for (const writer of range.writers ?? source.writers.keys()) {
      const end = source.writers.get(writer);
      if (end === undefined) throw noWriter(writer, source);
      checkBegin(range, end, source);
      writers.add(writer);
    }
  }
  const plan = await planRestore(place, source, { writers, signal });
  const isWanted = (entry: ChangeSetEntry) => ranges.some((range) => mayHold(range, entry));
  return new RestoreCursor(plan, source, { writers: [...writers], isWanted });
}

/** Refuses an offset of which it is known that nothing is there any more. */
function checkBegin({ from }: ChangeRange, end: WriterEnd, { neededBy }: RestoreSource): void {
  const { offset } = end.base ?? BEGINNING;
  if (from === undefined || from >= offset) return;
  throw new TidemarkError(
    "truncated",
    `Cannot restore writer ${end.writer} from offset ${from}: what ${neededBy} has of it begins at offset ${offset}, since it was truncated`,
    { details: { writer: end.writer, from, base: offset } },
  );
}

function noWriter(writer: string, { writers, neededBy }: RestoreSource): TidemarkError {
  return new TidemarkError(
    "writer-not-found",
    `Cannot restore writer ${writer}: ${neededBy} has ${
      writers.size === 0 ? "no writer" : `writers ${[...writers.keys()].join(", ")}`
    }`,
    { details: { writer } },
  );
}

/** Walks a plan file by file, and holds back the sets that come before their turn. */
export class RestoreCursor {
  readonly #plan: RestorePlan;
  readonly #source: RestoreSource;
  /** Number of each writer's next set. */
  readonly #next = new Map<string, number>();
  readonly #nextOffsets = new Map<string, number>();
  readonly #files = new Map<string, PlannedFile>();
  readonly #isWanted: (entry: ChangeSetEntry) => boolean;

  constructor(
    plan: RestorePlan,
    source: RestoreSource,
    wanted: {
      readonly writers: readonly string[];
      /** Sets that are passed over are not read. */
      readonly isWanted: (entry: ChangeSetEntry) => boolean;
    },
  ) {
    const { writers, isWanted } = wanted;
    this.#plan = plan;
    this.#source = source;
    this.#isWanted = isWanted;
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
    yield* this.#readSets(planned, batch, inTurn);
    for (const writer of expected.keys()) yield* this.#catchUp(writer, planned.file, batchEnd);
  }

  /** Reads those of the sets that are wanted, and passes over the others. */
  async *#readSets(
    { source }: PlannedFile,
    batch: Batch,
    inTurn: readonly ChangeSetEntry[],
  ): AsyncGenerator<RestoredSlice> {
    const wanted = inTurn.filter(this.#isWanted);
    let at = 0;
    for await (const slice of source.sets(batch, wanted)) {
      while (inTurn[at] !== slice.entry) this.#pass(inTurn[at++]);
      yield this.#take(slice);
    }
    while (at < inTurn.length) this.#pass(inTurn[at++]);
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
      yield* this.#readSets(planned, batch, [findEntry(batch.sets, place)]);
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
    const { writer, sequenceNumber } = entry;
    this.#checkOffset(writer, firstOffset);
    this.#next.set(writer, sequenceNumber + 1);
    this.#nextOffsets.set(writer, firstOffset + count);
    return { writer, firstOffset, count, bytes };
  }

  /** Goes on behind a set: what was read of it has led there already. */
  #pass({ writer, sequenceNumber, firstOffset, count }: ChangeSetEntry): void {
    if (this.#next.get(writer)! > sequenceNumber) return;
    this.#checkOffset(writer, firstOffset);
    this.#next.set(writer, sequenceNumber + 1);
    this.#nextOffsets.set(writer, firstOffset + count);
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
