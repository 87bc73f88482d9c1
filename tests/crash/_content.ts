/**
 * What the load of the crash tests writes: changes whose content follows from writer, branch and offset,
 * so that whatever is read back can be checked without having been kept.
 * @module
 */
import { decodeFirst } from "cborg";

/** A change as it goes in and comes out. */
export interface PlainChange {
  readonly keyGroup: number;
  readonly data: string;
}

/** Media types that the load uses, both ways. */
export type ChangeFormat = "ndjson" | "cborseq";

/** What stands in `Content-Type` and `Accept`. */
export const MEDIA_TYPES: Readonly<Record<ChangeFormat, string>> = {
  ndjson: "application/x-ndjson",
  cborseq: "application/cbor-seq",
};

const KEY_GROUPS = 16;
const LARGE_EVERY = 97;
const LARGE_CHARS = 5_000;
const SMALL_CHARS_MAX = 60;

/** The change at an offset. A branch begins at each rewind: what it writes differs from all others. */
export function changeAt(writer: string, branch: number, offset: number): PlainChange {
  const chars = offset % LARGE_EVERY === LARGE_EVERY - 1
    ? LARGE_CHARS + branch
    : (offset * 7 + branch) % SMALL_CHARS_MAX;
  const letter = String.fromCharCode(97 + (offset + branch) % 26);
  return {
    keyGroup: offset % KEY_GROUPS,
    data: `${writer}/${branch}/${offset}/${letter.repeat(chars)}`,
  };
}

/** Changes as the body of an append. */
export function encodeChanges(
  changes: readonly PlainChange[],
  format: ChangeFormat,
): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  if (format === "ndjson") {
    return encoder.encode(changes.map((change) => `${JSON.stringify(change)}\n`).join(""));
  }
  const items = changes.map(({ keyGroup, data }) => {
    const bytes = encoder.encode(data);
    return [0x82, ...cborHead(0, keyGroup), ...cborHead(2, bytes.length), ...bytes];
  });
  return Uint8Array.from(items.flat());
}

function cborHead(major: number, value: number): number[] {
  if (value < 24) return [(major << 5) | value];
  if (value < 0x100) return [(major << 5) | 24, value];
  return [(major << 5) | 25, value >> 8, value & 0xff];
}

/** A restore that was read to its end. */
export interface Restored {
  readonly changes: readonly PlainChange[];
  /** What the trailer says. */
  readonly end: { readonly count: number; readonly hash: string; readonly confirmed: number };
}

/** Reads the body of a restore. @throws when it has no trailer */
export function decodeRestore(body: Uint8Array, format: ChangeFormat): Restored {
  const items = format === "ndjson" ? ndjsonItems(body) : [...cborItems(body)];
  const last = items.pop();
  if (!isTrailer(last)) {
    throw new Error(`The restore is cut: after ${items.length} changes comes no trailer`);
  }
  return { changes: items as PlainChange[], end: last.end };
}

function isTrailer(item: unknown): item is Pick<Restored, "end"> {
  return typeof item === "object" && item !== null && "end" in item;
}

function ndjsonItems(body: Uint8Array): unknown[] {
  const text = new TextDecoder().decode(body);
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

function* cborItems(body: Uint8Array): Generator<unknown, void> {
  for (let rest = body; rest.length > 0;) {
    const [item, after] = decodeFirst(rest);
    rest = after;
    yield Array.isArray(item)
      ? { keyGroup: item[0], data: new TextDecoder().decode(item[1]) }
      : item;
  }
}
