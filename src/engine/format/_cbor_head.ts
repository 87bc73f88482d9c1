/**
 * The head of one CBOR item: how long it is in preferred encoding, and what it says in any valid one (the cold path,
 * where the hot scan stopped).
 * @module
 */

/** Major types of CBOR (RFC 8949 section 3.1). */
export const MAJOR = {
  unsigned: 0,
  negative: 1,
  bytes: 2,
  text: 3,
  array: 4,
  map: 5,
  tag: 6,
  simple: 7,
} as const;

const KIND_NAMES = [
  "a whole number",
  "a negative number",
  "a byte string",
  "a text string",
  "an array",
  "a map",
  "a tag",
  "a simple value or a float",
];

/** The byte that ends an item of indefinite length. */
export const BREAK = 0xff;

/** The head of an item. */
export interface CborHead {
  readonly major: number;
  /** Its argument: a number, a length or a count. Exact up to 2^53; above that only "too large" counts. */
  readonly value: number;
  readonly indefinite: boolean;
  /** Whether the argument stands in as few bytes as it can, and the length is definite. */
  readonly preferred: boolean;
  /** Where the head ends. */
  readonly end: number;
}

/** How many bytes a head takes in preferred encoding; that of -1 is as long as that of 0. */
export function headBytes(value: number): number {
  if (value < 24) return 1;
  if (value < 0x100) return 2;
  if (value < 0x10000) return 3;
  return value < 0x100000000 ? 5 : 9;
}

/** What a head is, for messages. */
export function kindName(head: CborHead): string {
  if (head.major === MAJOR.simple && head.indefinite) return "a break";
  return KIND_NAMES[head.major];
}

/**
 * Reads the head at `at`.
 *
 * @returns `incomplete` when it goes beyond `to`, `reserved` when its first byte means nothing in CBOR.
 */
export function readCborHead(
  bytes: Uint8Array,
  at: number,
  to: number,
): CborHead | "incomplete" | "reserved" {
  if (at >= to) return "incomplete";
  const first = bytes[at];
  const major = first >> 5;
  const short = first & 0x1f;
  if (short < 24) {
    return { major, value: short, indefinite: false, preferred: true, end: at + 1 };
  }
  if (short === 31) {
    const mayBeIndefinite = major >= MAJOR.bytes && major !== MAJOR.tag;
    return mayBeIndefinite
      ? { major, value: 0, indefinite: true, preferred: false, end: at + 1 }
      : "reserved";
  }
  if (short > 27) return "reserved";
  const argumentBytes = 1 << (short - 24);
  const end = at + 1 + argumentBytes;
  if (end > to) return "incomplete";
  let value = 0;
  for (let i = at + 1; i < end; i++) value = value * 256 + bytes[i];
  const smallest = argumentBytes === 1 ? 24 : 2 ** (argumentBytes * 4);
  return { major, value, indefinite: false, preferred: value >= smallest, end };
}
