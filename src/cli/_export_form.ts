/**
 * The form of exported changes: whose they are and at which offset, with an end that tells a whole
 * export from one that was cut off.
 *
 * As NDJSON each line is one change, `{"writer":"w","offset":0,"keyGroup":0,"data":"…"}`. As a CBOR
 * sequence a text item `{"writer":"w","offset":0}` stands before changes `[keyGroup, bytes]`. The
 * last line, or text item, is `{"end":{"writers":[…]}}`.
 */
import { Xxh64 } from "../../wasm/mod.ts";
import { TidemarkError } from "../engine/errors.ts";
import { changesFromCborSequence, changesFromNdjson } from "../engine/format/change_input.ts";
import { formatHash } from "../engine/format/hash_text.ts";
import type { EncodedChanges } from "../engine/types.ts";
import { cborItemEnd } from "./_cbor_item.ts";
import { byLine, cborItemsEnd, type InputFormat, ITEM_BYTES_MAX } from "./_input.ts";
import { mixedLines } from "./_output.ts";

/** Formats of an export of changes. */
export const EXPORT_FORMATS = ["ndjson", "cborseq"] as const;
export type ExportFormat = typeof EXPORT_FORMATS[number];

/** What the end says of a writer. */
export interface ExportedWriter {
  readonly writer: string;
  /** Offset of its first change in the export. */
  readonly from: number;
  /** Offset after its last one. */
  readonly to: number;
  /** XXH64 of its changes as a CBOR sequence. */
  readonly hash: string;
}

/** Changes of one writer that lie next to each other. */
export interface ExportedRun {
  readonly writer: string;
  readonly offset: number;
  readonly changes: EncodedChanges;
}

const TEXT = 3;
const NEWLINE = 0x0a;
const BRACE = "{".charCodeAt(0);
const encoder = new TextEncoder();

/** Writes changes. */
export function exportedChanges(
  format: ExportFormat,
  bytes: Uint8Array,
  place: { readonly writer: string; readonly firstOffset: number },
): Uint8Array[] {
  if (format === "ndjson") return [mixedLines("ndjson", bytes, place)];
  return [cborText(JSON.stringify({ writer: place.writer, offset: place.firstOffset })), bytes];
}

/** Writes the end. */
export function exportedEnd(
  format: ExportFormat,
  facts: { readonly job: string; readonly at: string; readonly writers: readonly ExportedWriter[] },
): Uint8Array {
  const text = JSON.stringify({ end: facts });
  return format === "ndjson" ? encoder.encode(`${text}\n`) : cborText(text);
}

/** A text item of a CBOR sequence. */
function cborText(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  const head = bytes.length < 24
    ? [0x60 + bytes.length]
    : [0x7a, ...[24, 16, 8, 0].map((shift) => (bytes.length >>> shift) & 0xff)];
  const item = new Uint8Array(head.length + bytes.length);
  item.set(head);
  item.set(bytes, head.length);
  return item;
}

/** Which form an export has, by its first bytes. */
export function exportFormatOf(first: Uint8Array): ExportFormat | undefined {
  if (first[0] === BRACE) return "ndjson";
  const isText = first.length > 0 && first[0] >> 5 === TEXT;
  return isText && first[textHeadBytes(first[0])] === BRACE ? "cborseq" : undefined;
}

/** Bytes of a text item that stand before its text. */
function textHeadBytes(byte: number): number {
  const info = byte & 31;
  return info < 24 ? 1 : 1 + 2 ** (info - 24);
}

/** Reads an export piece by piece, and holds it against its end. */
export class ExportReader {
  /** How the input is cut. */
  readonly format: InputFormat<ExportedRun[]>;
  readonly #found = new Map<string, { from: number; to: number; hash: Xxh64 }>();
  #place: { writer: string; offset: number } | undefined;
  #end: readonly ExportedWriter[] | undefined;

  constructor(format: ExportFormat) {
    this.format = format === "ndjson"
      ? { wholeEnd: byLine, read: (bytes) => this.#readLines(bytes), itemBytesMax: ITEM_BYTES_MAX }
      : {
        wholeEnd: cborItemsEnd,
        read: (bytes) => this.#readItems(bytes),
        itemBytesMax: ITEM_BYTES_MAX,
      };
  }

  /** Checks that all of it came. @throws {TidemarkError} `invalid-change` */
  checkWhole(): void {
    if (this.#end === undefined) {
      throw bad("it ends without its last line, so it was cut off; export again");
    }
    for (const { writer, from, to, hash } of this.#end) {
      const found = this.#found.get(writer) ?? { from, to: from, hash: new Xxh64() };
      const foundHash = formatHash(found.hash.digest());
      if (found.from === from && found.to === to && foundHash === hash) continue;
      throw bad(
        `its end says that writer ${writer} has changes ${from} to ${to} with hash ${hash}, found ` +
          `${found.from} to ${found.to} with ${foundHash}; export again`,
      );
    }
  }

  #readLines(bytes: Uint8Array): ExportedRun[] {
    const runs: ExportedRun[] = [];
    let lines: string[] = [];
    const flush = (): void => {
      if (lines.length === 0) return;
      const text = encoder.encode(lines.join(""));
      lines = [];
      runs.push(this.#take(changesFromNdjson(text)));
    };
    for (let at = 0; at < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, at);
      const end = newline < 0 ? bytes.length : newline;
      const { writer, offset, ...change } = this.#readHead(bytes.subarray(at, end));
      at = end + 1;
      if (writer === undefined) continue;
      const place = this.#place;
      if (place?.writer !== writer || place.offset + lines.length !== offset) {
        flush();
        this.#moveTo(writer, offset);
      }
      lines.push(`${JSON.stringify(change)}\n`);
    }
    flush();
    return runs;
  }

  #readItems(bytes: Uint8Array): ExportedRun[] {
    const runs: ExportedRun[] = [];
    for (let at = 0; at < bytes.length;) {
      let end = cborItemEnd(bytes, at) ?? bytes.length;
      if (bytes[at] >> 5 === TEXT) {
        const text = bytes.subarray(at + textHeadBytes(bytes[at]), end);
        const { writer, offset } = this.#readHead(text);
        if (writer !== undefined) this.#moveTo(writer, offset);
      } else {
        while (end < bytes.length && bytes[end] >> 5 !== TEXT) {
          end = cborItemEnd(bytes, end) ?? bytes.length;
        }
        if (this.#place === undefined) throw bad("it does not say whose its first change is");
        runs.push(this.#take(changesFromCborSequence(bytes.slice(at, end))));
      }
      at = end;
    }
    return runs;
  }

  /** Reads whose the next change is, or the end. */
  #readHead(text: Uint8Array): { writer?: string; offset: number } {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text));
    } catch (cause) {
      throw bad(`${this.#after()} comes what is no JSON`, cause);
    }
    if (this.#end !== undefined) throw bad("it goes on after its end");
    const { writer, offset, end, ...rest } = isObject(value) ? value : {};
    if (isObject(end) && Array.isArray(end.writers)) {
      this.#end = end.writers;
      return { offset: 0 };
    }
    if (typeof writer === "string" && Number.isSafeInteger(offset) && Number(offset) >= 0) {
      return { ...rest, writer, offset: Number(offset) };
    }
    throw bad(
      `${this.#after()} comes a line without "writer" and "offset"; append takes changes without`,
    );
  }

  /** Goes on at another place; within a writer there is no gap. */
  #moveTo(writer: string, offset: number): void {
    const found = this.#found.get(writer);
    if (found !== undefined && found.to !== offset) {
      throw bad(`${this.#after()} comes writer ${writer} at offset ${offset}, not at ${found.to}`);
    }
    if (found === undefined) {
      this.#found.set(writer, { from: offset, to: offset, hash: new Xxh64() });
    }
    this.#place = { writer, offset };
  }

  #take(changes: EncodedChanges): ExportedRun {
    const { writer, offset } = this.#place!;
    const found = this.#found.get(writer)!;
    found.to += changes.count;
    found.hash.update(changes.bytes);
    this.#place = { writer, offset: found.to };
    return { writer, offset, changes };
  }

  #after(): string {
    const place = this.#place;
    return place === undefined
      ? "at its beginning"
      : `after offset ${place.offset} of writer ${place.writer}`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function bad(reason: string, cause?: unknown): TidemarkError {
  return new TidemarkError("invalid-change", `Cannot import: ${reason}`, { cause });
}
