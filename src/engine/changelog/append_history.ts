/** Owns: which appends are remembered, and for how long. Does not own: stored changes. @module */
import { xxh64 } from "../../../wasm/mod.ts";
import { KIB } from "../limits.ts";
import type { EncodedChanges } from "../types.ts";

const APPENDS_MAX = 256;
const FIRST_CAPACITY = 8;
const NO_NUMBERS = new Float64Array(0);
const NO_HASHES = new BigUint64Array(0);
/** To hash more costs each append more than it costs the few that are repeated to be read back. */
const HASHED_BYTES_MAX = 256 * KIB;

/** Remembers the latest appends by hash, so that a repeated one is recognised without reading it back. */
export class AppendHistory {
  /** Rings of numbers: an object for each append would live long enough to burden every collection of garbage. */
  #offsets = NO_NUMBERS;
  #counts = NO_NUMBERS;
  #hashes = NO_HASHES;
  /** Appends so far; each goes to its place modulo the capacity. */
  #added = 0;

  /** Notes an append that begins at `offset`; one that is empty, or large, is not remembered. */
  add(offset: number, changes: EncodedChanges): void {
    if (changes.count === 0 || changes.bytes.length > HASHED_BYTES_MAX) return;
    if (this.#added === this.#offsets.length && this.#added < APPENDS_MAX) this.#grow();
    const place = this.#added++ % this.#offsets.length;
    this.#offsets[place] = offset;
    this.#counts[place] = changes.count;
    this.#hashes[place] = xxh64(changes.bytes);
  }

  /** Whether these changes were appended at `offset`; undefined when that is not known. */
  compare(offset: number, changes: EncodedChanges): boolean | undefined {
    const place = this.#offsets.subarray(0, this.#added).indexOf(offset);
    if (place < 0 || this.#counts[place] !== changes.count) return undefined;
    return this.#hashes[place] === xxh64(changes.bytes);
  }

  #grow(): void {
    const capacity = Math.max(FIRST_CAPACITY, 2 * this.#added);
    const [offsets, counts] = [new Float64Array(capacity), new Float64Array(capacity)];
    const hashes = new BigUint64Array(capacity);
    offsets.set(this.#offsets);
    counts.set(this.#counts);
    hashes.set(this.#hashes);
    this.#offsets = offsets;
    this.#counts = counts;
    this.#hashes = hashes;
  }
}
