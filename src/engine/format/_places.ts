/** The hot loop that finds changes in bytes. @module */
import { CHANGE_BYTES_MAX } from "../limits.ts";
import { ARRAY_OF_TWO, ENCODED_CHANGE_BYTES_MIN, MINUS_ONE } from "./change.ts";

/** What there is in some bytes. */
export interface Summary {
  readonly count: number;
  /** Smallest key group; 0 when there is no change. */
  readonly keyGroupMin: number;
  /** Largest key group; 0 when there is no change. */
  readonly keyGroupMax: number;
  /** Where the last whole change ends. */
  readonly end: number;
}

/** Room for the places of most scans, used by one after the other: what a scan finds is copied out of it, once. */
const scratch = new Uint32Array(8192);

/** Where each change begins. Nothing else is kept: all of a change's head is a look away. */
export class Places {
  starts: Uint32Array = scratch;

  grow(): void {
    const larger = new Uint32Array(this.starts.length * 2);
    larger.set(this.starts);
    this.starts = larger;
  }

  /** The first `count` places, in memory of their own. */
  take(count: number): Uint32Array {
    return this.starts === scratch ? scratch.slice(0, count) : this.starts.subarray(0, count);
  }
}

/** The key group of the change that begins at `at`. */
export function keyGroupAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at + 1];
  if (first < 24) return first;
  if (first === MINUS_ONE) return -1;
  if (first === 0x18) return bytes[at + 2];
  return first === 0x19 ? (bytes[at + 2] << 8) | bytes[at + 3] : readUint32(bytes, at + 2);
}

/** Where the data of the change that begins at `at` begins. */
export function dataStartAt(bytes: Uint8Array, at: number): number {
  const length = at + 1 + headLength(bytes[at + 1]);
  return length + headLength(bytes[length]);
}

function headLength(first: number): number {
  const short = first & 0x1f;
  return short < 24 ? 1 : 1 + (1 << (short - 24));
}

/**
 * Finds whole changes in preferred encoding from `from` on, and stops at the first thing that is none.
 *
 * @param places Where to write them down. Nothing is written without it.
 */
export function findChanges(
  bytes: Uint8Array,
  from: number,
  to: number,
  places?: Places,
): Summary {
  let starts = places?.starts ?? NO_STARTS;
  let count = 0;
  let keyGroupMin = 0x7fffffff;
  let keyGroupMax = -1;
  let at = from;
  while (at + ENCODED_CHANGE_BYTES_MIN <= to && bytes[at] === ARRAY_OF_TWO) {
    let next = at + 2;
    let keyGroup = bytes[at + 1];
    if (keyGroup >= 24) {
      if (keyGroup === MINUS_ONE) {
        keyGroup = -1;
      } else if (keyGroup === 0x18) {
        keyGroup = bytes[next++];
        if (keyGroup < 24) break;
      } else if (keyGroup === 0x19) {
        keyGroup = (bytes[next] << 8) | bytes[next + 1];
        next += 2;
        if (keyGroup < 0x100) break;
      } else if (keyGroup === 0x1a) {
        keyGroup = readUint32(bytes, next) | 0;
        next += 4;
        if (keyGroup < 0x10000) break;
      } else break;
    }
    if (next >= to) break;
    let length = bytes[next++] - 0x40;
    if (length >>> 0 >= 24) {
      if (length === 0x18) {
        length = bytes[next++];
        if (length < 24) break;
      } else if (length === 0x19) {
        length = (bytes[next] << 8) | bytes[next + 1];
        next += 2;
        if (length < 0x100) break;
      } else if (length === 0x1a) {
        length = readUint32(bytes, next);
        next += 4;
        if (length < 0x10000 || length > CHANGE_BYTES_MAX) break;
      } else break;
    }
    // A head that is cut off reads as something odd, or as one that ends beyond `to`: it stops here either way.
    if (!(next + length <= to)) break;
    if (places !== undefined) {
      if (count === starts.length) {
        places.grow();
        starts = places.starts;
      }
      starts[count] = at;
    }
    count++;
    if (keyGroup < keyGroupMin) keyGroupMin = keyGroup;
    if (keyGroup > keyGroupMax) keyGroupMax = keyGroup;
    at = next + length;
  }
  if (count === 0) keyGroupMin = keyGroupMax = 0;
  return { count, keyGroupMin, keyGroupMax, end: at };
}

const NO_STARTS = new Uint32Array(0);

function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
}
