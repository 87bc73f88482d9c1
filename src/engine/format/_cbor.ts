/**
 * CBOR outside the hot path, through cbor-x by the entry that neither evaluates code nor loads its addon.
 * @module
 */
import { Decoder, Encoder } from "cbor-x/index-no-eval";
import { MAJOR, readCborHead } from "./_cbor_head.ts";
import { Malformed } from "./_malformed.ts";

const DEPTH_MAX = 4;
const OPTIONS = { useRecords: false, tagUint8Array: false, mapsAsObjects: true } as const;

const encoder = new Encoder(OPTIONS);
const decoder = new Decoder(OPTIONS);

/** Encodes one item. The bytes are valid until the next call. */
export function encodeCbor(value: unknown): Uint8Array {
  return encoder.encode(value);
}

/** A whole number the way cbor-x must get it: from 2^32 on it would make a float of a `number`. */
export function cborCount(count: number): number | bigint {
  return count < 2 ** 32 ? count : BigInt(count);
}

/**
 * Decodes one item that fills the bytes. Byte strings in it are views. Whole numbers that stand in eight bytes
 * come as bigints.
 *
 * @throws {Malformed} The bytes are something else, are nested deeper than anything stored is, or have tags, floats
 * or indefinite lengths.
 */
export function decodeCbor(bytes: Uint8Array): unknown {
  checkShape(bytes);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new Malformed("its content can't be decoded as CBOR", { cause });
  }
}

/** Walks the item before the decoder does, which believes every declared length and every depth. */
function checkShape(bytes: Uint8Array): void {
  const left = [1];
  let at = 0;
  while (left.length > 0) {
    const depth = left.length - 1;
    if (left[depth] === 0) {
      left.pop();
      continue;
    }
    left[depth]--;
    const head = readCborHead(bytes, at, bytes.length);
    if (typeof head !== "object" || head.indefinite || head.major >= MAJOR.tag) {
      throw new Malformed(`its content is not the CBOR of this format, at byte ${at} of it`);
    }
    at = head.end;
    if (head.major === MAJOR.bytes || head.major === MAJOR.text) at += head.value;
    if (head.major === MAJOR.array || head.major === MAJOR.map) {
      left.push(head.major === MAJOR.map ? head.value * 2 : head.value);
    }
    if (
      left.length > DEPTH_MAX + 1 || left[left.length - 1] > bytes.length - at || at > bytes.length
    ) {
      throw new Malformed(`its content is longer or deeper than it can be, at byte ${at} of it`);
    }
  }
  if (at !== bytes.length) {
    throw new Malformed(`its content has ${bytes.length - at} bytes after its CBOR`);
  }
}
