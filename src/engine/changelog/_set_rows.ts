/**
 * What is known of many change sets, as numbers in columns: some 40 bytes for each, where objects take hundreds.
 * @module
 */
import type { KeyGroupRange } from "../types.ts";
import type { PlacedSet } from "./tail.ts";

const SEGMENT_ROWS = 1024;
/** Sequence numbers that share an array. */
const NUMBERS_PER_CHUNK = 32;

/** Some rows. */
class Segment {
  readonly epochs = new Float64Array(SEGMENT_ROWS);
  readonly firstOffsets = new Float64Array(SEGMENT_ROWS);
  /** A batch's body is smaller than 4 GiB, and has fewer changes than bytes. */
  readonly counts = new Uint32Array(SEGMENT_ROWS);
  readonly byteLengths = new Uint32Array(SEGMENT_ROWS);
  readonly batches = new Uint32Array(SEGMENT_ROWS);
  readonly ranges = new Uint32Array(SEGMENT_ROWS);
}

/** What a row holds. */
export type SetRow = Pick<PlacedSet, "epoch" | "firstOffset" | "count" | "byteLength"> & {
  /** Number of the batch, and of the writer's key groups. */
  readonly batch: number;
  readonly range: number;
};

/** Rows by number. */
export class SetRows {
  readonly #segments: Segment[] = [];
  #count = 0;

  /** Adds a row; answers its number. */
  add(row: SetRow): number {
    if (this.#count % SEGMENT_ROWS === 0) this.#segments.push(new Segment());
    this.set(this.#count, row);
    return this.#count++;
  }

  set(number: number, { epoch, firstOffset, count, byteLength, batch, range }: SetRow): void {
    const segment = this.#segments[Math.floor(number / SEGMENT_ROWS)];
    const at = number % SEGMENT_ROWS;
    segment.epochs[at] = epoch;
    segment.firstOffsets[at] = firstOffset;
    segment.counts[at] = count;
    segment.byteLengths[at] = byteLength;
    segment.batches[at] = batch;
    segment.ranges[at] = range;
  }

  get(number: number): SetRow {
    const segment = this.#segments[Math.floor(number / SEGMENT_ROWS)];
    const at = number % SEGMENT_ROWS;
    return {
      epoch: segment.epochs[at],
      firstOffset: segment.firstOffsets[at],
      count: segment.counts[at],
      byteLength: segment.byteLengths[at],
      batch: segment.batches[at],
      range: segment.ranges[at],
    };
  }
}

/** Key groups by number, each pair once. */
export class Ranges {
  readonly #ranges: KeyGroupRange[] = [];
  readonly #numbers = new Map<string, number>();

  /** @param guess The number that it most likely has. */
  numberOf(range: KeyGroupRange, guess: number): number {
    const guessed = this.#ranges[guess];
    if (guessed !== undefined && guessed[0] === range[0] && guessed[1] === range[1]) return guess;
    const name = range.join(" ");
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.#ranges.length);
    return this.#ranges.push(range) - 1;
  }

  get(number: number): KeyGroupRange {
    return this.#ranges[number];
  }
}

/** Rows of one writer by sequence number. They come nearly in order, up or down, and begin anywhere. */
export class RowsByNumber {
  readonly #chunks = new Map<number, number[]>();

  get(sequenceNumber: number): number | undefined {
    const chunk = this.#chunks.get(Math.floor(sequenceNumber / NUMBERS_PER_CHUNK));
    return chunk?.[sequenceNumber % NUMBERS_PER_CHUNK];
  }

  set(sequenceNumber: number, row: number): void {
    const number = Math.floor(sequenceNumber / NUMBERS_PER_CHUNK);
    let chunk = this.#chunks.get(number);
    if (chunk === undefined) this.#chunks.set(number, chunk = []);
    chunk[sequenceNumber % NUMBERS_PER_CHUNK] = row;
  }
}
