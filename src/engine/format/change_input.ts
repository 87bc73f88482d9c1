/**
 * Changes from outside, in five formats, as the encoded changes that the engine keeps.
 *
 * Owns: what is taken and what is refused, caps, where in the input the trouble is.
 * Does not own: offsets, admission, where the bytes came from.
 * @module
 */
import { CHANGE_BYTES_MAX } from "../limits.ts";
import type { Change, EncodedChanges } from "../types.ts";
import { BREAK, MAJOR } from "./_cbor_head.ts";
import { ChangeBuilder } from "./_change_builder.ts";
import { invalidChange } from "./_invalid_change.ts";
import { headAt, readLenientChange } from "./_lenient_changes.ts";
import { readJsonArray } from "./_json_array.ts";
import { readJsonLine } from "./_ndjson.ts";
import {
  changeTooLarge,
  checkChange,
  encodeChange,
  ENCODED_CHANGE_BYTES_MIN,
  encodedChangeBytes,
} from "./change.ts";
import { findChanges } from "./_places.ts";

const NEWLINE = 0x0a;

/**
 * Reads a CBOR sequence (RFC 8742) of `[keyGroup, bytes]`.
 *
 * @param bytes Kept without a copy when all of it is in preferred encoding; never changed.
 * @throws {TidemarkError} `invalid-change`, `change-too-large`
 */
export function changesFromCborSequence(bytes: Uint8Array): EncodedChanges {
  const { end, ...scanned } = findChanges(bytes, 0, bytes.length);
  if (end === bytes.length) return { bytes, ...scanned };
  const builder = new ChangeBuilder(bytes.length);
  builder.addEncoded(bytes.subarray(0, end), scanned);
  let at = end;
  while (at < bytes.length) at = readLenientChange(bytes, at, builder);
  return builder.finish();
}

/**
 * Reads one CBOR array of `[keyGroup, bytes]`.
 *
 * @param bytes Kept without a copy when all of it is in preferred encoding; never changed.
 * @throws {TidemarkError} `invalid-change`, `change-too-large`
 */
export function changesFromCborArray(bytes: Uint8Array): EncodedChanges {
  const head = headAt(bytes, 0, 0, "an array of changes");
  if (head.major !== MAJOR.array) {
    throw invalidChange(
      { index: 0, position: 0 },
      "wants an array of changes, found something else",
    );
  }
  if (!head.indefinite && head.value * ENCODED_CHANGE_BYTES_MIN > bytes.length - head.end) {
    throw invalidChange(
      { index: 0, position: 0 },
      `wants an array of ${head.value} changes, found only ${bytes.length - head.end} bytes`,
    );
  }
  const { end, ...scanned } = findChanges(bytes, head.end, bytes.length);
  const count = head.indefinite ? undefined : head.value;
  if (endsHere(bytes, end, scanned.count, count)) {
    return { bytes: bytes.subarray(head.end, end), ...scanned };
  }
  return rewriteArray(bytes, head.end, count);
}

function rewriteArray(bytes: Uint8Array, start: number, count: number | undefined): EncodedChanges {
  const builder = new ChangeBuilder(bytes.length - start);
  let at = start;
  while (count === undefined ? bytes[at] !== BREAK : builder.count < count) {
    at = readLenientChange(bytes, at, builder);
  }
  if (!endsHere(bytes, at, builder.count, count)) {
    throw invalidChange(
      { index: builder.count, position: at },
      `wants nothing after the array, found ${bytes.length - at} bytes more`,
    );
  }
  return builder.finish();
}

function endsHere(
  bytes: Uint8Array,
  at: number,
  found: number,
  count: number | undefined,
): boolean {
  return count === undefined
    ? bytes[at] === BREAK && at + 1 === bytes.length
    : at === bytes.length && found === count;
}

/**
 * Reads lines of `{"keyGroup":n,"data":"text"}` or `{"keyGroup":n,"base64":"…"}`; the key group is 0 where it is
 * left out, blank lines are passed over.
 *
 * @throws {TidemarkError} `invalid-change`, `change-too-large`
 */
export function changesFromNdjson(bytes: Uint8Array): EncodedChanges {
  const builder = new ChangeBuilder(bytes.length);
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, at);
    const end = newline < 0 ? bytes.length : newline;
    readJsonLine(bytes.subarray(at, end), at, builder);
    at = end + 1;
  }
  return builder.finish();
}

/**
 * Reads one JSON array of `{"keyGroup":n,"data":"text"}` or `{"keyGroup":n,"base64":"…"}`; the key group is 0 where it
 * is left out.
 *
 * @throws {TidemarkError} `invalid-change`, `change-too-large`
 */
export function changesFromJson(bytes: Uint8Array): EncodedChanges {
  const builder = new ChangeBuilder(bytes.length);
  readJsonArray(bytes, builder);
  return builder.finish();
}

/**
 * Makes each line's bytes without the newline one change of key group 0. A carriage return stays. A last line
 * without a newline counts if it is not empty.
 *
 * @throws {TidemarkError} `change-too-large`
 */
export function changesFromLines(bytes: Uint8Array): EncodedChanges {
  let total = 0;
  let count = 0;
  for (let at = 0, end = 0; at < bytes.length; at = end + 1, count++) {
    end = lineEnd(bytes, at);
    if (end - at > CHANGE_BYTES_MAX) throw changeTooLarge(end - at, { index: count, position: at });
    total += encodedChangeBytes(0, end - at);
  }
  const encoded = new Uint8Array(total);
  let written = 0;
  for (let at = 0, end = 0; at < bytes.length; at = end + 1) {
    end = lineEnd(bytes, at);
    written = encodeChange(encoded, written, 0, bytes.subarray(at, end));
  }
  return { bytes: encoded, count, keyGroupMin: 0, keyGroupMax: 0 };
}

function lineEnd(bytes: Uint8Array, at: number): number {
  const newline = bytes.indexOf(NEWLINE, at);
  return newline < 0 ? bytes.length : newline;
}

/**
 * Encodes changes as a CBOR sequence (RFC 8742) of `[keyGroup, bytes]` in preferred encoding (RFC 8949 section 4.1),
 * the way they are kept.
 *
 * @param changes In order; each of at most 256 MiB. Their bytes are copied.
 * @returns The encoded changes, for {@link Writer.appendEncoded} and {@link Writer.appendAt}.
 * @throws {RangeError} A key group is not -1 or a whole number from 0 to 2^31 - 1.
 * @throws {TidemarkError} `change-too-large`
 *
 * @example
 * ```ts
 * import { encodeChanges } from "@tidemark/tidemark";
 *
 * const { bytes, count } = encodeChanges([
 *   { keyGroup: 1, data: new Uint8Array([5]) },
 *   { keyGroup: -1, data: new Uint8Array() }, // metadata
 * ]);
 * console.assert(count === 2 && bytes.join() === "130,1,65,5,130,32,64");
 * ```
 */
export function encodeChanges(changes: Iterable<Change>): EncodedChanges {
  const given = [...changes];
  let total = 0;
  for (const { keyGroup, data } of given) {
    checkChange(keyGroup, data.length);
    total += encodedChangeBytes(keyGroup, data.length);
  }
  // Of the right size at once: bytes that grow are copied again, and hold more than what is counted of them.
  const builder = new ChangeBuilder(total);
  for (const { keyGroup, data } of given) builder.add(keyGroup, data);
  return builder.finish();
}
