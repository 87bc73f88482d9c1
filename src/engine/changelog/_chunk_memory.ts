/**
 * Memory that encoded changes are written into.
 * Owns: how much is taken at a time, what is used again. Does not own: what is in it, when nobody reads it any more.
 * @module
 */
import { KIB } from "../limits.ts";

/** Bytes of a large chunk: these are used again, since the system gives new memory page by page, filled with zeros. */
export const CHUNK_BYTES_MAX: number = 256 * KIB;
/** Large chunks that are kept: as many as a large upload lets go of at once. */
const IDLE_MAX = 128;
/** Largest chunk that shares an array with others. */
const SMALL_BYTES_MAX = KIB;
/** Bytes of an array that small chunks share; a set that waits holds on to no more than that. */
const SHARED_BYTES = 8 * KIB;

const idle: Uint8Array[] = [];
/** Large chunks that were taken and not given back. */
const taken = new WeakSet<ArrayBufferLike>();
let shared = new Uint8Array(0);
let sharedUsed = 0;

/** Memory from one position of an array to another. */
export interface Chunk {
  readonly array: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/** Takes memory. Allocating an array costs more than a small change, so that small chunks share one. */
export function takeChunk(bytes: number): Chunk {
  if (bytes === CHUNK_BYTES_MAX) return { array: takeLarge(), from: 0, to: bytes };
  if (bytes > SMALL_BYTES_MAX) return { array: new Uint8Array(bytes), from: 0, to: bytes };
  if (sharedUsed + bytes > shared.length) {
    shared = new Uint8Array(SHARED_BYTES);
    sharedUsed = 0;
  }
  const from = sharedUsed;
  sharedUsed += bytes;
  return { array: shared, from, to: sharedUsed };
}

function takeLarge(): Uint8Array {
  const array = idle.pop() ?? new Uint8Array(CHUNK_BYTES_MAX);
  taken.add(array.buffer);
  return array;
}

/** Takes large chunks back, of those that {@link endChunk} gave; others are left alone. Nobody may read them any more. */
export function giveBack(chunks: readonly Uint8Array[]): void {
  for (const { buffer } of chunks) {
    // Most sets are small, and asking the set of those that were taken costs more than this.
    if (buffer.byteLength !== CHUNK_BYTES_MAX || !taken.delete(buffer)) continue;
    if (idle.length < IDLE_MAX) idle.push(new Uint8Array(buffer));
  }
}

/** Ends a chunk; what was not used of it goes to the next where that is possible. */
export function endChunk({ array, from, to }: Chunk, end: number): Uint8Array {
  if (array === shared && to === sharedUsed) sharedUsed = end;
  return array.subarray(from, end);
}
