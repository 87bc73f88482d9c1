/**
 * Memory that encoded changes are written into.
 * Owns: how much is taken at a time, what is used again. Does not own: what is in it, when nobody reads it any more.
 * @module
 */
import { KIB, MIB } from "../limits.ts";

/** Bytes of a large chunk: these are used again, since the system gives new memory page by page, filled with zeros. */
export const CHUNK_BYTES_MAX: number = 256 * KIB;
/** Bytes of large memory that are kept: as many as a large upload lets go of at once. */
const IDLE_BYTES_MAX = 32 * MIB;
/** Sizes between which memory for changes that come encoded is used again. */
export const REUSED_BYTES_MIN: number = 32 * KIB;
const REUSED_BYTES_MAX = 4 * MIB;
/** Sizes per octave: an eighth is what may be wasted. */
const SIZES_PER_OCTAVE = 8;
/** Largest chunk that shares an array with others. */
const SMALL_BYTES_MAX = KIB;
/** Bytes of an array that small chunks share; a set that waits holds on to no more than that. */
const SHARED_BYTES = 8 * KIB;

/** Large memory that nobody has, by size; the size that was first wanted is the first to go. */
const idle = new Map<number, Uint8Array[]>();
let idleBytes = 0;
/** Large memory that was taken and not given back, with the bytes that must come back of it in one piece; 0: any. */
const taken = new WeakMap<ArrayBufferLike, number>();
/** Memory that serves once: it is let go of when it comes back. */
const adopted = new WeakSet<ArrayBufferLike>();
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
  if (bytes === CHUNK_BYTES_MAX) return { array: takeLarge(bytes, 0), from: 0, to: bytes };
  if (bytes > SMALL_BYTES_MAX) return { array: new Uint8Array(bytes), from: 0, to: bytes };
  if (sharedUsed + bytes > shared.length) {
    shared = new Uint8Array(SHARED_BYTES);
    sharedUsed = 0;
  }
  const from = sharedUsed;
  sharedUsed += bytes;
  return { array: shared, from, to: sharedUsed };
}

/**
 * Takes memory for changes that come encoded. A writer that appends them gives it back once they are durable; whoever
 * does anything else with it just lets go of it.
 */
export function takeWhole(bytes: number): Uint8Array {
  if (bytes < REUSED_BYTES_MIN) return new Uint8Array(bytes);
  if (bytes > REUSED_BYTES_MAX) return adopt(new Uint8Array(bytes));
  const step = 2 ** Math.floor(Math.log2(bytes)) / SIZES_PER_OCTAVE;
  // Only as a whole: a part of it may have gone another way.
  return takeLarge(Math.ceil(bytes / step) * step, bytes).subarray(0, bytes);
}

/**
 * Takes in memory that a runtime has made for changes that come encoded, and that nobody else has. What comes back of it
 * is let go of at once: a collection of garbage that comes later would have the next bodies touch new memory, page by
 * page, and there is one the more often, the more such memory waits for it.
 */
export function adopt(bytes: Uint8Array): Uint8Array {
  const { buffer, length } = bytes;
  // A part of larger memory may have others.
  if (length >= REUSED_BYTES_MIN && buffer.byteLength === length) adopted.add(buffer);
  return bytes;
}

/** Lets go of memory now, where the runtime can (Node from version 22 on). */
function letGo(buffer: ArrayBufferLike): void {
  (buffer as { transfer?(bytes: number): ArrayBuffer }).transfer?.(0);
}

function takeLarge(bytes: number, wholeBytes: number): Uint8Array {
  const kept = idle.get(bytes)?.pop();
  if (kept !== undefined) idleBytes -= bytes;
  const array = kept ?? new Uint8Array(bytes);
  taken.set(array.buffer, wholeBytes);
  return array;
}

/** Large memory that was taken lies in another buffer now. */
export function moved(from: ArrayBufferLike, to: ArrayBufferLike): void {
  if (from === to) return;
  const wholeBytes = taken.get(from);
  if (wholeBytes !== undefined) taken.set(to, wholeBytes);
  taken.delete(from);
  if (adopted.delete(from)) adopted.add(to);
}

/** Takes large memory back, of that which was taken here; other is left alone. Nobody may read it any more. */
export function giveBack(chunks: readonly Uint8Array[]): void {
  for (const { buffer, length } of chunks) {
    // Most sets are small, and to look for those that were taken costs more than this.
    if (buffer.byteLength < REUSED_BYTES_MIN) continue;
    if (length === buffer.byteLength && adopted.delete(buffer)) {
      letGo(buffer);
      continue;
    }
    const wholeBytes = taken.get(buffer);
    if (wholeBytes !== 0 && wholeBytes !== length) continue;
    taken.delete(buffer);
    keep(new Uint8Array(buffer));
  }
}

function keep(array: Uint8Array): void {
  const { length } = array;
  const arrays = idle.get(length);
  if (arrays === undefined) idle.set(length, [array]);
  else arrays.push(array);
  idleBytes += length;
  for (const [size, others] of idle) {
    if (idleBytes <= IDLE_BYTES_MAX) break;
    // All of a size may have been taken again.
    if (others.pop() !== undefined) idleBytes -= size;
    if (others.length === 0) idle.delete(size);
  }
}

/** Ends a chunk; what was not used of it goes to the next where that is possible. */
export function endChunk({ array, from, to }: Chunk, end: number): Uint8Array {
  if (array === shared && to === sharedUsed) sharedUsed = end;
  return array.subarray(from, end);
}
