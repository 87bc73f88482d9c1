/**
 * Finds the changes in a CBOR sequence of `[keyGroup, bytes]` without making an object for any of them.
 * Strict: preferred encoding only, as everything stored is.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { type BadHead, type ChangeHead, readChangeHead } from "./_change_head.ts";
import { dataStartAt, findChanges, keyGroupAt, Places, type Summary } from "./_places.ts";

/** Options of a scan. */
export interface ScanOptions {
  /** First byte to scan. @default 0 */
  from?: number;
  /** First byte not to scan any more. @default {the length of the bytes} */
  to?: number;
  /** What is scanned, for messages. @default "changes" */
  what?: string;
  /** Key of the object that the bytes are of, for messages and details. @default {none} */
  key?: string;
}

/** Places of the changes in some bytes, found by {@link scanChanges}. */
export class ChangeScan {
  /** The bytes that were scanned. */
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Smallest key group; 0 when there is no change. */
  readonly keyGroupMin: number;
  /** Largest key group; 0 when there is no change. */
  readonly keyGroupMax: number;
  /** Where the last whole change ends. */
  readonly end: number;
  readonly #starts: Uint32Array;

  /** Made by {@link scanChanges} and {@link scanChangePrefix}. */
  constructor(bytes: Uint8Array, summary: Summary, places: Places) {
    this.bytes = bytes;
    this.count = summary.count;
    this.keyGroupMin = summary.keyGroupMin;
    this.keyGroupMax = summary.keyGroupMax;
    this.end = summary.end;
    this.#starts = places.take(summary.count);
  }

  /** Key group of change `index`. */
  keyGroup(index: number): number {
    return keyGroupAt(this.bytes, this.itemStart(index));
  }

  /** Where the encoded change begins. */
  itemStart(index: number): number {
    return this.#starts[this.#check(index)];
  }

  /** Where the encoded change ends. */
  itemEnd(index: number): number {
    return this.#check(index) + 1 === this.count ? this.end : this.#starts[index + 1];
  }

  /** Where the change's data begins. */
  dataStart(index: number): number {
    return dataStartAt(this.bytes, this.itemStart(index));
  }

  /** Where the change's data ends. */
  dataEnd(index: number): number {
    return this.itemEnd(index);
  }

  /** The change's data: a view, no copy. */
  data(index: number): Uint8Array {
    return this.bytes.subarray(this.dataStart(index), this.itemEnd(index));
  }

  #check(index: number): number {
    if (index >= 0 && index < this.count) return index;
    throw new RangeError(`Cannot look at change ${index}: there are ${this.count}`);
  }
}

/**
 * Scans bytes that are nothing but whole changes.
 *
 * @throws {TidemarkError} `corrupt` for anything else, with the index of the change and the byte position.
 */
export function scanChanges(bytes: Uint8Array, options: ScanOptions = {}): ChangeScan {
  const scan = scanChangePrefix(bytes, options);
  const to = options.to ?? bytes.length;
  if (scan.end === to) return scan;
  const head = readChangeHead(bytes, scan.end, to);
  throw scanError(options, scan.count, {
    position: scan.end,
    reason: isHead(head)
      ? `it needs ${head.end - scan.end} bytes, has ${to - scan.end}`
      : `its head needs more than the ${to - scan.end} bytes that are left`,
  });
}

/**
 * Scans the whole changes at the front of the bytes; what follows the last one may be cut off anywhere.
 * {@link ChangeScan.end} says where they end.
 *
 * @throws {TidemarkError} `corrupt` for anything that can't be the beginning of a change.
 */
export function scanChangePrefix(bytes: Uint8Array, options: ScanOptions = {}): ChangeScan {
  const places = new Places();
  return new ChangeScan(bytes, summarize(bytes, options, places), places);
}

function summarize(bytes: Uint8Array, options: ScanOptions, places: Places): Summary {
  const { from = 0, to = bytes.length } = options;
  if (!(from >= 0 && from <= to && to <= bytes.length && to <= 0xffffffff)) {
    throw new RangeError(`Cannot scan bytes ${from} to ${to} of ${bytes.length}`);
  }
  const summary = findChanges(bytes, from, to, places);
  if (summary.end < to) {
    const head = readChangeHead(bytes, summary.end, to);
    if (isBad(head)) throw scanError(options, summary.count, head);
  }
  return summary;
}

function isHead(head: ChangeHead | BadHead | "incomplete"): head is ChangeHead {
  return typeof head === "object" && "end" in head;
}

function isBad(head: ChangeHead | BadHead | "incomplete"): head is BadHead {
  return typeof head === "object" && "reason" in head;
}

function scanError(options: ScanOptions, index: number, bad: BadHead): TidemarkError {
  const { what = "changes", key } = options;
  const where = key === undefined ? "" : ` of ${JSON.stringify(key)}`;
  return new TidemarkError(
    "corrupt",
    `Cannot read ${what}${where}: change ${index} is malformed at byte ${bad.position}: ${bad.reason}`,
    { details: { key, index, position: bad.position, reason: bad.reason } },
  );
}
