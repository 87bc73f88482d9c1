/** Where a CBOR item (RFC 8949) ends, without decoding it. */

const BREAK = 0xff;
const INDEFINITE = 31;
const DEPTH_MAX = 4;

/**
 * Where the item at `at` ends; undefined when it is not whole. What is no CBOR, or nested deeper
 * than any change, ends at once: whoever reads it says what is wrong.
 */
export function cborItemEnd(bytes: Uint8Array, at: number, depth = 0): number | undefined {
  if (at >= bytes.length) return undefined;
  const major = bytes[at] >> 5;
  const info = bytes[at] & 31;
  if (info === INDEFINITE) return indefiniteEnd(bytes, at, depth);
  const widths = [1, 2, 4, 8];
  const width = info < 24 ? 0 : widths[info - 24];
  if (width === undefined) return at + 1;
  const start = at + 1 + width;
  if (start > bytes.length) return undefined;
  const value = width === 0 ? info : argument(bytes, at + 1, width);
  if (major === 2 || major === 3) {
    return start + value <= bytes.length ? start + value : undefined;
  }
  if (major === 4) return itemsEnd(bytes, start, value, depth);
  if (major === 5) return itemsEnd(bytes, start, 2 * value, depth);
  return major === 6 ? itemsEnd(bytes, start, 1, depth) : start;
}

function argument(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + bytes[at + i];
  return value;
}

function itemsEnd(
  bytes: Uint8Array,
  start: number,
  count: number,
  depth: number,
): number | undefined {
  if (depth === DEPTH_MAX) return start;
  let end: number | undefined = start;
  for (let i = 0; i < count && end !== undefined; i++) end = cborItemEnd(bytes, end, depth + 1);
  return end;
}

function indefiniteEnd(bytes: Uint8Array, at: number, depth: number): number | undefined {
  const major = bytes[at] >> 5;
  if (depth === DEPTH_MAX || major < 2 || major > 5) return at + 1;
  let end: number | undefined = at + 1;
  while (end !== undefined && bytes[end] !== BREAK) end = cborItemEnd(bytes, end, depth + 1);
  return end === undefined ? undefined : end + 1;
}
