/** Changes on their way out, in the formats of the command line. */
import { toLines, toNdjson } from "../engine/format/change_output.ts";
import type { ChangeFormat } from "./_input.ts";

const NEWLINE = 0x0a;

/** By format: encoded changes as what is written. */
export const WRITERS_OF: Readonly<Record<ChangeFormat, (bytes: Uint8Array) => Uint8Array>> = {
  lines: toLines,
  ndjson: toNdjson,
  cborseq: (bytes) => bytes,
};

/** Formats in which changes of several writers can stand in one stream. */
export const MIXED_FORMATS = ["lines", "ndjson"] as const;
export type MixedFormat = typeof MIXED_FORMATS[number];

/**
 * Changes of one writer among those of others: each line says whose it is; in NDJSON with its
 * offset.
 */
export function mixedLines(
  format: MixedFormat,
  bytes: Uint8Array,
  { writer, firstOffset }: { readonly writer: string; readonly firstOffset: number },
): Uint8Array {
  const encoder = new TextEncoder();
  const text = WRITERS_OF[format](bytes);
  const parts: Uint8Array[] = [];
  let at = 0;
  for (let offset = firstOffset; at < text.length; offset++) {
    const end = text.indexOf(NEWLINE, at) + 1;
    // A line of NDJSON is an object: its brace comes with the prefix.
    const [prefix, from] = format === "lines"
      ? [`${writer}: `, at]
      : [`{"writer":${JSON.stringify(writer)},"offset":${offset},`, at + 1];
    parts.push(encoder.encode(prefix), text.subarray(from, end));
    at = end;
  }
  return concatenate(parts);
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
