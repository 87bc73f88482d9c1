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
const LARGE_CHARS = 60_000;
const SMALL_CHARS_MAX = 60;
const ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

/**
 * The change at an offset. A branch begins at each rewind: what it writes differs from all others. A negative branch
 * writes changes that are large and can't be compressed, so that a kill can hit the middle of a write.
 */
export function changeAt(writer: string, branch: number, offset: number): PlainChange {
  const chars = branch < 0 ? LARGE_CHARS : (offset * 7 + branch) % SMALL_CHARS_MAX;
  const noise = noiseOf(offset * 31 + branch, chars);
  return { keyGroup: offset % KEY_GROUPS, data: `${writer}/${branch}/${offset}/${noise}` };
}

/** Letters that follow from a seed and look like chance. */
function noiseOf(seed: number, chars: number): string {
  let state = seed >>> 0;
  let text = "";
  for (let index = 0; index < chars; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += ALPHABET[state >>> 26];
  }
  return text;
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
  const parts = changes.map(({ keyGroup, data }) => {
    const bytes = encoder.encode(data);
    return { head: [0x82, ...cborHead(0, keyGroup), ...cborHead(2, bytes.length)], bytes };
  });
  const body = new Uint8Array(
    parts.reduce((sum, { head, bytes }) => sum + head.length + bytes.length, 0),
  );
  let at = 0;
  for (const { head, bytes } of parts) {
    body.set(head, at);
    body.set(bytes, at + head.length);
    at += head.length + bytes.length;
  }
  return body;
}

function cborHead(major: number, value: number): number[] {
  if (value < 24) return [(major << 5) | value];
  if (value < 0x100) return [(major << 5) | 24, value];
  if (value < 0x10000) return [(major << 5) | 25, value >> 8, value & 0xff];
  return [(major << 5) | 26, ...[24, 16, 8, 0].map((shift) => (value >> shift) & 0xff)];
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
