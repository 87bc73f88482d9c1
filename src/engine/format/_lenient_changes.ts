/**
 * Reads changes in any valid CBOR encoding, and writes them anew in the preferred one. No recursion: a
 * change is an array of two, a byte string at most an array of chunks, and nothing else is taken.
 * @module
 */
import { CHANGE_BYTES_MAX, KEY_GROUP_MAX } from "../limits.ts";
import { BREAK, type CborHead, kindName, MAJOR, readCborHead } from "./_cbor_head.ts";
import type { ChangeBuilder } from "./_change_builder.ts";
import { keyGroupOf } from "./_change_head.ts";
import { invalidChange } from "./_invalid_change.ts";
import { changeTooLarge } from "./change.ts";

/** Reads one change at `at` and adds it; answers where the next one begins. */
export function readLenientChange(bytes: Uint8Array, at: number, builder: ChangeBuilder): number {
  const index = builder.count;
  const array = headAt(bytes, at, index, "an array of a key group and a byte string");
  if (array.major !== MAJOR.array) throw unexpected(array, at, index, "an array");
  if (!array.indefinite && array.value !== 2) {
    throw invalidChange(
      { index, position: at },
      `wants an array of 2 items, a key group and a byte string, found one of ${array.value}`,
    );
  }
  const key = headAt(bytes, array.end, index, "a key group");
  const keyGroup = keyGroupOf(key);
  if (keyGroup === undefined) {
    throw unexpected(key, array.end, index, `a key group, -1 or from 0 to ${KEY_GROUP_MAX}`);
  }
  const data = headAt(bytes, key.end, index, "a byte string");
  if (data.major !== MAJOR.bytes) throw unexpected(data, key.end, index, "a byte string");
  const end = data.indefinite
    ? readChunks(bytes, key.end, keyGroup, builder)
    : readBytes(bytes, { head: data, at: key.end, keyGroup }, builder);
  if (!array.indefinite) return end;
  if (bytes[end] === BREAK) return end + 1;
  const found = end < bytes.length ? "more items" : "the end of the bytes";
  throw invalidChange(
    { index, position: end },
    `wants the end of an array of 2 items, found ${found}`,
  );
}

/** Reads a head of a change. */
export function headAt(bytes: Uint8Array, at: number, index: number, wants: string): CborHead {
  const head = readCborHead(bytes, at, bytes.length);
  if (head === "incomplete") {
    throw invalidChange({ index, position: at }, `wants ${wants}, found the end of the bytes`);
  }
  if (head === "reserved") {
    const byte = bytes[at].toString(16).padStart(2, "0");
    throw invalidChange(
      { index, position: at },
      `wants ${wants}, found the byte 0x${byte}, which means nothing`,
    );
  }
  return head;
}

function unexpected(head: CborHead, position: number, index: number, wants: string) {
  const hint = head.major === MAJOR.tag
    ? "; a typed array must be sent as a plain byte string, without a tag"
    : "";
  const isNumber = head.major === MAJOR.unsigned || head.major === MAJOR.negative;
  const number = head.major === MAJOR.negative ? -1 - head.value : head.value;
  const found = isNumber ? String(number) : kindName(head);
  return invalidChange({ index, position }, `wants ${wants}, found ${found}${hint}`);
}

function readBytes(
  bytes: Uint8Array,
  item: { head: CborHead; at: number; keyGroup: number },
  builder: ChangeBuilder,
): number {
  const end = endOfBytes(bytes, item.head, item.at, { index: builder.count, before: 0 });
  builder.add(item.keyGroup, bytes.subarray(item.head.end, end));
  return end;
}

function endOfBytes(
  bytes: Uint8Array,
  head: CborHead,
  at: number,
  change: { index: number; before: number },
): number {
  const { index, before } = change;
  if (before + head.value > CHANGE_BYTES_MAX) {
    throw changeTooLarge(before + head.value, { index, position: at });
  }
  const end = head.end + head.value;
  if (end > bytes.length) {
    throw invalidChange(
      { index, position: at },
      `wants a byte string of ${head.value} bytes, found only ${bytes.length - head.end}`,
    );
  }
  return end;
}

/** A byte string in chunks: a first pass measures it, a second one copies. */
function readChunks(
  bytes: Uint8Array,
  start: number,
  keyGroup: number,
  builder: ChangeBuilder,
): number {
  const index = builder.count;
  let total = 0;
  let at = start + 1;
  while (bytes[at] !== BREAK) {
    const chunk = headAt(bytes, at, index, "a chunk of a byte string");
    if (chunk.major !== MAJOR.bytes || chunk.indefinite) {
      throw unexpected(chunk, at, index, "a chunk of a byte string, of definite length");
    }
    at = endOfBytes(bytes, chunk, at, { index, before: total });
    total += chunk.value;
  }
  const end = at;
  const target = builder.addHead(keyGroup, total);
  let filled = 0;
  for (at = start + 1; at < end;) {
    const chunk = headAt(bytes, at, index, "a chunk of a byte string");
    at = chunk.end + chunk.value;
    target.set(bytes.subarray(chunk.end, at), filled);
    filled += chunk.value;
  }
  return end + 1;
}
