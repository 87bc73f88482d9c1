/**
 * Chooses among the copies of change sets: at one place (writer, sequence number) the highest epoch counts, since the
 * recovery or resume between two epochs left the lower out; sets of one epoch must be copies of each other.
 * @module
 */
import { Xxh64 } from "../../../wasm/mod.ts";
import { TidemarkError } from "../errors.ts";
import { readBatchEndingAt, readSets } from "../format/change_file_reader.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { ChangeFileSource } from "./change_file_source.ts";
import { Ranges, RowsByNumber, type SetRow, SetRows } from "./_set_rows.ts";
import type { BatchPlace, PlacedSet, SetPlace } from "./tail.ts";

/** What there is of one writer. */
interface WriterSets {
  readonly rows: RowsByNumber;
  /** Number of the key groups of the set that came last: the others have the same, as a rule. */
  range: number;
}

/** Candidates for every place of every writer. */
export class SetPlaces {
  readonly #writers = new Map<string, WriterSets>();
  readonly #rows = new SetRows();
  readonly #ranges = new Ranges();
  readonly #batches: BatchPlace[] = [];
  readonly #copies: (readonly [SetPlace, SetPlace])[] = [];

  /** Writers of which there is a candidate. */
  get writers(): Iterable<string> {
    return this.#writers.keys();
  }

  /** The set that counts at a place. */
  get(writer: string, sequenceNumber: number): SetPlace | undefined {
    const sets = this.#writers.get(writer);
    const row = sets?.rows.get(sequenceNumber);
    if (sets === undefined || row === undefined) return undefined;
    const { batch, range, ...facts } = this.#rows.get(row);
    const entry = { writer, keyGroups: this.#ranges.get(range), sequenceNumber, ...facts };
    return { entry, ...this.#batches[batch] };
  }

  /**
   * Takes a candidate in; the same one again changes nothing.
   *
   * @param batch Where it is: the same object for all sets of a batch.
   * @throws {TidemarkError} `corrupt` when it contradicts one of its own epoch.
   */
  add(entry: PlacedSet, batch: BatchPlace): void {
    const { writer, sequenceNumber, epoch } = entry;
    let sets = this.#writers.get(writer);
    if (sets === undefined) {
      this.#writers.set(writer, sets = { rows: new RowsByNumber(), range: 0 });
    }
    const other = this.get(writer, sequenceNumber);
    if (other === undefined) {
      sets.rows.set(sequenceNumber, this.#rows.add(this.#toRow(sets, entry, batch)));
      return;
    }
    if (other.entry.epoch > epoch) return;
    const row = sets.rows.get(sequenceNumber)!;
    if (other.entry.epoch < epoch) {
      this.#rows.set(row, this.#toRow(sets, entry, batch));
      return;
    }
    const place = { entry, ...batch };
    checkCopy(other, place);
    if (!isSameBatch(other, batch)) this.#copies.push([other, place]);
    // What is proven to be on disk need not be copied.
    if (other.isUnproven && !batch.isUnproven) this.#rows.set(row, this.#toRow(sets, entry, batch));
  }

  #toRow(sets: WriterSets, entry: PlacedSet, batch: BatchPlace): SetRow {
    const { epoch, firstOffset, count, byteLength, keyGroups } = entry;
    if (this.#batches.at(-1) !== batch) this.#batches.push(batch);
    sets.range = this.#ranges.numberOf(keyGroups, sets.range);
    const place = { batch: this.#batches.length - 1, range: sets.range };
    return { epoch, firstOffset, count, byteLength, ...place };
  }

  /**
   * Reads sets that stand twice and checks that they are equal.
   *
   * @param onDiffer Told of a set of which that is not so. @default the error is thrown
   * @throws {TidemarkError} `corrupt`
   */
  async checkCopies(
    backend: StorageBackend,
    onDiffer?: (set: SetPlace, error: TidemarkError) => void,
  ): Promise<void> {
    for (const [one, other] of this.#copies) {
      if (await hashOf(backend, one) === await hashOf(backend, other)) continue;
      const error = contradiction(one, other, "their bytes differ");
      if (onDiffer === undefined) throw error;
      onDiffer(other, error);
    }
  }
}

function isSameBatch(one: BatchPlace, other: BatchPlace): boolean {
  return one.file.key === other.file.key && one.batchEnd === other.batchEnd;
}

function checkCopy(one: SetPlace, other: SetPlace): void {
  const isEqual = one.entry.firstOffset === other.entry.firstOffset &&
    one.entry.count === other.entry.count && one.entry.byteLength === other.entry.byteLength;
  if (!isEqual) throw contradiction(one, other, "their offsets or lengths differ");
}

function contradiction(one: SetPlace, other: SetPlace, reason: string): TidemarkError {
  const { writer, sequenceNumber, epoch } = one.entry;
  return new TidemarkError(
    "corrupt",
    `Cannot tell change set ${sequenceNumber} of writer ${writer}: ${one.file.key} at byte ${one.batchStart} and ${other.file.key} at byte ${other.batchStart} both hold it for epoch ${epoch}, but ${reason}`,
    {
      details: {
        key: other.file.key,
        from: other.batchStart,
        to: other.batchEnd,
        otherKey: one.file.key,
        writer,
        sequenceNumber,
        epoch,
      },
    },
  );
}

async function hashOf(backend: StorageBackend, place: SetPlace): Promise<bigint> {
  const source = new ChangeFileSource(backend, place.file.key, place.batchEnd);
  const batch = await readBatchEndingAt(source, place.batchEnd);
  checkReread(place, batch.indexHash);
  const hash = new Xxh64();
  for await (const slice of readSets(source, batch, [findEntry(batch.sets, place)])) {
    hash.update(slice.bytes);
  }
  return hash.digest();
}

/** Checks that a batch, read once more, is still the one that was found. @throws {TidemarkError} `corrupt` */
export function checkReread(place: BatchPlace, indexHash: bigint): void {
  if (place.indexHash === indexHash) return;
  const { key } = place.file;
  throw new TidemarkError(
    "corrupt",
    `Cannot go on with ${key}: its batch from byte ${place.batchStart} to ${place.batchEnd} changed while it was read`,
    { details: { key, from: place.batchStart, to: place.batchEnd } },
  );
}

/** Finds a set again in its batch, read once more. @throws {TidemarkError} `corrupt` when it is gone. */
export function findEntry<Entry extends PlacedSet>(
  sets: readonly Entry[],
  place: SetPlace,
): Entry {
  const { writer, sequenceNumber, epoch } = place.entry;
  const found = sets.find((set) =>
    set.writer === writer && set.sequenceNumber === sequenceNumber && set.epoch === epoch
  );
  if (found !== undefined) return found;
  throw new TidemarkError(
    "corrupt",
    `Cannot find change set ${sequenceNumber} of writer ${writer} again in ${place.file.key} at byte ${place.batchStart}: the file changed while it was read`,
    { details: { key: place.file.key, from: place.batchStart, to: place.batchEnd } },
  );
}
