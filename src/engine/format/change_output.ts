/**
 * Encoded changes on their way out, in the formats for people.
 * @module
 */
import { MIB } from "../limits.ts";
import { encodeBase64 } from "./_base64.ts";
import { type ChangeScan, scanChanges } from "./change_scan.ts";

const NEWLINE = 0x0a;
/** Data beyond this goes out in base64: escaped, it might be longer than a string can be. */
const TEXT_BYTES_MAX: number = 32 * MIB;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Writes each change as a line of JSON: its data as text where it is UTF-8 of at most 32 MiB, else in
 * base64.
 *
 * @param bytes Encoded changes.
 * @throws {TidemarkError} `corrupt` when they are not.
 */
export function toNdjson(bytes: Uint8Array): Uint8Array {
  const scan = scanChanges(bytes);
  let lines = "";
  for (let i = 0; i < scan.count; i++) {
    const keyGroup = scan.keyGroup(i);
    const text = textOf(scan, i);
    lines += text === undefined
      ? `{"keyGroup":${keyGroup},"base64":"${encodeBase64(scan.data(i))}"}\n`
      : `{"keyGroup":${keyGroup},"data":${JSON.stringify(text)}}\n`;
  }
  return encoder.encode(lines);
}

function textOf(scan: ChangeScan, index: number): string | undefined {
  const data = scan.data(index);
  if (data.length > TEXT_BYTES_MAX) return undefined;
  try {
    return decoder.decode(data);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * Writes each change's data as a line, whatever its key group; a newline within the data stays as it is.
 *
 * @param bytes Encoded changes.
 * @throws {TidemarkError} `corrupt` when they are not.
 */
export function toLines(bytes: Uint8Array): Uint8Array {
  const scan = scanChanges(bytes);
  let total = scan.count;
  for (let i = 0; i < scan.count; i++) total += scan.dataEnd(i) - scan.dataStart(i);
  const lines = new Uint8Array(total);
  let at = 0;
  for (let i = 0; i < scan.count; i++) {
    const data = scan.data(i);
    lines.set(data, at);
    at += data.length;
    lines[at++] = NEWLINE;
  }
  return lines;
}
