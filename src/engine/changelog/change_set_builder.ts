/**
 * The active change set of a writer: changes are encoded once, when they are appended.
 * @module
 */
import { encodeChange, encodedChangeBytes } from "../format/change.ts";
import type { ChangeSet } from "../format/change_set.ts";
import type { EncodedChanges, KeyGroupRange } from "../types.ts";
import { type Chunk, CHUNK_BYTES_MAX, endChunk, takeChunk } from "./_chunk_memory.ts";

const FIRST_CHUNK_BYTES = 256;
/** A set begins with a large chunk when the one before it had so many bytes: an eighth of them is what it may waste. */
const LARGE_SET_BYTES = 8 * CHUNK_BYTES_MAX;

/** Collects encoded changes in chunks that grow with the set, so that many small sets cost little. */
export class ChangeSetBuilder {
  #firstOffset: number;
  /** None at first: most sets have one chunk, and an array that grows takes more than it needs. */
  #chunks: Uint8Array[] | undefined;
  #chunk: Chunk | undefined;
  /** Where the next change goes in the chunk's array. */
  #at = 0;
  #nextChunkBytes = FIRST_CHUNK_BYTES;
  #byteLength = 0;
  #count = 0;
  #keyGroupMin = Number.MAX_SAFE_INTEGER;
  #keyGroupMax = Number.MIN_SAFE_INTEGER;

  constructor(firstOffset: number) {
    this.#firstOffset = firstOffset;
  }

  /** Offset of the first change of the set. */
  get firstOffset(): number {
    return this.#firstOffset;
  }

  get count(): number {
    return this.#count;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Copies one change in. */
  append(keyGroup: number, data: Uint8Array): void {
    const size = encodedChangeBytes(keyGroup, data.length);
    let chunk = this.#chunk;
    if (chunk === undefined || this.#at + size > chunk.to) chunk = this.#beginChunk(size);
    this.#at = encodeChange(chunk.array, this.#at, keyGroup, data);
    this.#note(1, size, keyGroup, keyGroup);
  }

  /** Takes encoded changes over, without a copy. */
  appendEncoded(changes: EncodedChanges): void {
    this.#endChunk();
    // Chunks that are cut short again and again must not be large.
    this.#nextChunkBytes = FIRST_CHUNK_BYTES;
    this.#addChunk(changes.bytes);
    this.#note(changes.count, changes.bytes.length, changes.keyGroupMin, changes.keyGroupMax);
  }

  /** Ends the set, and begins the next. */
  build(
    place: {
      readonly writer: string;
      readonly keyGroups: KeyGroupRange;
      readonly epoch: number;
      readonly sequenceNumber: number;
    },
  ): ChangeSet {
    this.#endChunk();
    const set: ChangeSet = {
      writer: place.writer,
      keyGroups: place.keyGroups,
      epoch: place.epoch,
      sequenceNumber: place.sequenceNumber,
      firstOffset: this.#firstOffset,
      count: this.#count,
      keyGroupMin: this.#keyGroupMin,
      keyGroupMax: this.#keyGroupMax,
      chunks: this.#chunks ?? [],
      byteLength: this.#byteLength,
    };
    this.#begin(this.#firstOffset + this.#count);
    return set;
  }

  #begin(firstOffset: number): void {
    this.#firstOffset = firstOffset;
    this.#chunks = undefined;
    const wasLarge = this.#byteLength >= LARGE_SET_BYTES;
    this.#nextChunkBytes = wasLarge ? CHUNK_BYTES_MAX : FIRST_CHUNK_BYTES;
    this.#byteLength = 0;
    this.#count = 0;
    this.#keyGroupMin = Number.MAX_SAFE_INTEGER;
    this.#keyGroupMax = Number.MIN_SAFE_INTEGER;
  }

  #note(count: number, size: number, keyGroupMin: number, keyGroupMax: number): void {
    this.#count += count;
    this.#byteLength += size;
    if (keyGroupMin < this.#keyGroupMin) this.#keyGroupMin = keyGroupMin;
    if (keyGroupMax > this.#keyGroupMax) this.#keyGroupMax = keyGroupMax;
  }

  #beginChunk(size: number): Chunk {
    this.#endChunk();
    const chunk = takeChunk(Math.max(size, this.#nextChunkBytes));
    this.#nextChunkBytes = Math.min(2 * this.#nextChunkBytes, CHUNK_BYTES_MAX);
    this.#chunk = chunk;
    this.#at = chunk.from;
    return chunk;
  }

  #endChunk(): void {
    if (this.#chunk === undefined) return;
    this.#addChunk(endChunk(this.#chunk, this.#at));
    this.#chunk = undefined;
  }

  #addChunk(chunk: Uint8Array): void {
    if (this.#chunks === undefined) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }
}
