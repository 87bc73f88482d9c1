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

/** Columns that grow: where each change begins, where its data begins, its key group. */
export class Places {
  itemStarts: Uint32Array;
  dataStarts: Uint32Array;
  keyGroups: Int32Array;

  constructor(capacity: number) {
    this.itemStarts = new Uint32Array(capacity);
    this.dataStarts = new Uint32Array(capacity);
    this.keyGroups = new Int32Array(capacity);
  }

  /** Doubles the room. */
  grow(): void {
    const larger = new Places(this.itemStarts.length * 2);
    larger.itemStarts.set(this.itemStarts);
    larger.dataStarts.set(this.dataStarts);
    larger.keyGroups.set(this.keyGroups);
    this.itemStarts = larger.itemStarts;
    this.dataStarts = larger.dataStarts;
    this.keyGroups = larger.keyGroups;
  }
}

/**
 * Finds whole changes in preferred encoding from `from` on, and stops at the first thing that is none.
 *
 * @param places Where to write them down; its columns have room for one at least. Nothing is written without it.
 */
export function findChanges(
  bytes: Uint8Array,
  from: number,
  to: number,
  places?: Places,
): Summary {
  let { itemStarts, dataStarts, keyGroups } = places ?? NO_PLACES;
  const keep = places !== undefined;
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
    if (keep) {
      if (count === itemStarts.length) {
        places.grow();
        ({ itemStarts, dataStarts, keyGroups } = places);
      }
      itemStarts[count] = at;
      dataStarts[count] = next;
      keyGroups[count] = keyGroup;
    }
    count++;
    if (keyGroup < keyGroupMin) keyGroupMin = keyGroup;
    if (keyGroup > keyGroupMax) keyGroupMax = keyGroup;
    at = next + length;
  }
  if (count === 0) keyGroupMin = keyGroupMax = 0;
  return { count, keyGroupMin, keyGroupMax, end: at };
}

const NO_PLACES = new Places(0);

function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
}
