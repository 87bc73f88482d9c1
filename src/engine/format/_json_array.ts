/** An array of JSON as changes, element by element: what is parsed at a time is one change. @module */
import type { ChangeBuilder } from "./_change_builder.ts";
import { invalidChange } from "./_invalid_change.ts";
import { readJsonLine } from "./_ndjson.ts";

const [OPEN, CLOSE, BRACE_OPEN, BRACE_CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];
const [COMMA, QUOTE, BACKSLASH] = [0x2c, 0x22, 0x5c];

/** Reads the array and adds its changes. @throws {TidemarkError} `invalid-change`, `change-too-large` */
export function readJsonArray(bytes: Uint8Array, builder: ChangeBuilder): void {
  let at = skipBlanks(bytes, 0);
  if (bytes[at] !== OPEN) throw wants(builder, at, "an array of changes");
  at = skipBlanks(bytes, at + 1);
  if (bytes[at] === CLOSE) return checkEnd(bytes, at + 1, builder);
  for (;;) {
    const end = elementEnd(bytes, at);
    if (end === bytes.length) throw wants(builder, at, "the array to end");
    if (skipBlanks(bytes, at) === end) throw wants(builder, at, "a change before the comma or end");
    readJsonLine(bytes.subarray(at, end), at, builder);
    if (bytes[end] === CLOSE) return checkEnd(bytes, end + 1, builder);
    at = end + 1;
  }
}

/** Where the comma or bracket stands that ends an element. */
function elementEnd(bytes: Uint8Array, from: number): number {
  let depth = 0;
  let isText = false;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPEN || byte === BRACE_OPEN) depth++;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE)) return at;
    else if (byte === CLOSE || byte === BRACE_CLOSE) depth--;
  }
  return bytes.length;
}

function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d) at++;
  return at;
}

function checkEnd(bytes: Uint8Array, from: number, builder: ChangeBuilder): void {
  const at = skipBlanks(bytes, from);
  if (at < bytes.length) throw wants(builder, at, "nothing after the array");
}

function wants({ count: index }: ChangeBuilder, position: number, what: string): Error {
  return invalidChange({ index, position }, `wants ${what}`);
}
