/**
 * Memory that encoded changes are written into.
 * Owns: how much is taken at a time. Does not own: what is in it.
 * @module
 */
import { KIB } from "../limits.ts";

/** Largest chunk that shares an array with others. */
const SMALL_BYTES_MAX = KIB;
/** Bytes of an array that small chunks share; a set that waits holds on to no more than that. */
const SHARED_BYTES = 8 * KIB;

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
  if (bytes > SMALL_BYTES_MAX) return { array: new Uint8Array(bytes), from: 0, to: bytes };
  if (sharedUsed + bytes > shared.length) {
    shared = new Uint8Array(SHARED_BYTES);
    sharedUsed = 0;
  }
  const from = sharedUsed;
  sharedUsed += bytes;
  return { array: shared, from, to: sharedUsed };
}

/** Ends a chunk; what was not used of it goes to the next where that is possible. */
export function endChunk({ array, from, to }: Chunk, end: number): Uint8Array {
  if (array === shared && to === sharedUsed) sharedUsed = end;
  return array.subarray(from, end);
}
