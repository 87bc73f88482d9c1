/** Changes at random, in any valid CBOR encoding, and a slow and simple reader of them. */
import fc from "fast-check";
import type { Change } from "../../../src/engine/types.ts";
import { join } from "./_files.ts";

const KEY_GROUPS = [-1, 0, 23, 24, 255, 256, 65535, 65536, 2 ** 31 - 1];
const LENGTHS = [0, 1, 22, 23, 24, 25, 254, 255, 256, 257];

/** A change, its sizes near where encodings change. */
export const anyChange: fc.Arbitrary<Change> = fc.record({
  keyGroup: fc.oneof(fc.constantFrom(...KEY_GROUPS), fc.integer({ min: 0, max: 2 ** 31 - 1 })),
  data: fc.oneof(
    fc.constantFrom(...LENGTHS).chain((length) =>
      fc.uint8Array({ minLength: length, maxLength: length })
    ),
    fc.uint8Array({ maxLength: 40 }),
  ),
}, { noNullPrototype: true });

/** The bytes of a head, its argument in at least `width` bytes: 0, 1, 2, 4 or 8. */
export function head(major: number, value: number, width: number): Uint8Array {
  const least = value < 24 ? 0 : value < 2 ** 8 ? 1 : value < 2 ** 16 ? 2 : value < 2 ** 32 ? 4 : 8;
  const bytes = Math.max(width, least);
  if (bytes === 0) return Uint8Array.of(major << 5 | value);
  const short = 24 + Math.log2(bytes);
  const argument = Array.from(
    { length: bytes },
    (_, i) => Math.floor(value / 256 ** (bytes - 1 - i)) % 256,
  );
  return Uint8Array.of(major << 5 | short, ...argument);
}

/** Choices of one valid encoding of a change. */
export interface Encoding {
  /** Least width of each head: array, key group, byte string. */
  readonly widths: readonly [number, number, number];
  readonly indefiniteArray: boolean;
  /** Lengths of chunks, as far as the data goes; undefined for a definite byte string. */
  readonly chunks: readonly number[] | undefined;
}

const anyWidth = fc.constantFrom(0, 0, 0, 1, 2, 4, 8);

export const anyEncoding: fc.Arbitrary<Encoding> = fc.record({
  widths: fc.tuple(anyWidth, anyWidth, anyWidth),
  indefiniteArray: fc.boolean(),
  chunks: fc.option(fc.array(fc.nat({ max: 30 }), { maxLength: 5 }), { nil: undefined }),
});

/** Encodes a change just so. */
export function encodeAs(change: Change, encoding: Encoding): Uint8Array {
  const { widths, indefiniteArray, chunks } = encoding;
  const { keyGroup, data } = change;
  const parts = [
    indefiniteArray ? Uint8Array.of(0x9f) : head(4, 2, widths[0]),
    keyGroup < 0 ? head(1, 0, widths[1]) : head(0, keyGroup, widths[1]),
  ];
  if (chunks === undefined) {
    parts.push(head(2, data.length, widths[2]), data);
  } else {
    parts.push(Uint8Array.of(0x5f));
    let at = 0;
    for (const length of [...chunks, data.length]) {
      const chunk = data.subarray(at, at + length);
      parts.push(head(2, chunk.length, widths[2]), chunk);
      at += chunk.length;
    }
    parts.push(Uint8Array.of(0xff));
  }
  if (indefiniteArray) parts.push(Uint8Array.of(0xff));
  return join(parts);
}

/** Reads one change at `at` by the book; undefined when there is none. */
export function readSlowly(
  bytes: Uint8Array,
  at: number,
): { change: Change; end: number; preferred: boolean } | undefined {
  const array = readHead(bytes, at);
  if (array === undefined || array.major !== 4 || array.value !== 2 && !array.indefinite) {
    return undefined;
  }
  const key = readHead(bytes, array.end);
  if (key === undefined || key.indefinite || key.major > 1) return undefined;
  if (key.major === 1 ? key.value !== 0 : key.value >= 2 ** 31) return undefined;
  const data = readString(bytes, key.end);
  if (data === undefined) return undefined;
  let end = data.end;
  if (array.indefinite && bytes[end++] !== 0xff) return undefined;
  return {
    change: { keyGroup: key.major === 1 ? -1 : key.value, data: data.data },
    end,
    preferred: array.preferred && key.preferred && data.preferred,
  };
}

function readString(
  bytes: Uint8Array,
  at: number,
): { data: Uint8Array; end: number; preferred: boolean } | undefined {
  const first = readHead(bytes, at);
  if (first === undefined || first.major !== 2) return undefined;
  if (!first.indefinite) {
    const end = first.end + first.value;
    if (end > bytes.length) return undefined;
    return { data: bytes.slice(first.end, end), end, preferred: first.preferred };
  }
  const chunks: Uint8Array[] = [];
  let next = first.end;
  while (bytes[next] !== 0xff) {
    const chunk = readHead(bytes, next);
    if (chunk === undefined || chunk.indefinite) return undefined;
    const whole = readString(bytes, next);
    if (whole === undefined) return undefined;
    chunks.push(whole.data);
    next = whole.end;
  }
  return { data: join(chunks), end: next + 1, preferred: false };
}

function readHead(
  bytes: Uint8Array,
  at: number,
):
  | { major: number; value: number; indefinite: boolean; preferred: boolean; end: number }
  | undefined {
  if (at >= bytes.length) return undefined;
  const major = bytes[at] >> 5;
  const short = bytes[at] & 31;
  if (short < 24) return { major, value: short, indefinite: false, preferred: true, end: at + 1 };
  if (short === 31) return { major, value: 0, indefinite: true, preferred: false, end: at + 1 };
  if (short > 27) return undefined;
  const end = at + 1 + 2 ** (short - 24);
  if (end > bytes.length) return undefined;
  const value = bytes.slice(at + 1, end).reduce((sum, byte) => sum * 256 + byte, 0);
  const least = short === 24 ? 24 : 2 ** (8 * 2 ** (short - 25));
  return { major, value, indefinite: false, preferred: value >= least, end };
}
