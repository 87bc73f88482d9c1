/** One line of NDJSON as a change. @module */
import { CHANGE_BYTES_MAX, KEY_GROUP_MAX, META_KEY_GROUP } from "../limits.ts";
import { base64DecodedBytes, decodeBase64Into } from "./_base64.ts";
import type { ChangeBuilder } from "./_change_builder.ts";
import { invalidChange, type Place } from "./_invalid_change.ts";
import { changeTooLarge } from "./change.ts";

const WANTED = '{"keyGroup":n,"data":"text"} or {"keyGroup":n,"base64":"…"}';
const FIELDS: ReadonlySet<string> = new Set(["keyGroup", "data", "base64"]);

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Reads one line and adds it; a blank one adds nothing. */
export function readJsonLine(line: Uint8Array, position: number, builder: ChangeBuilder): void {
  const place: Place = { index: builder.count, position };
  const text = decodeLine(line, place);
  if (text.trim() === "") return;
  const { keyGroup, data, base64 } = parseLine(text, place);
  if (data !== undefined) {
    const bytes = encoder.encode(data);
    if (bytes.length > CHANGE_BYTES_MAX) throw changeTooLarge(bytes.length, { ...place });
    builder.add(keyGroup, bytes);
    return;
  }
  const length = base64DecodedBytes(base64 as string);
  if (length !== undefined && length > CHANGE_BYTES_MAX) throw changeTooLarge(length, { ...place });
  if (
    length === undefined || !decodeBase64Into(base64 as string, builder.addHead(keyGroup, length))
  ) {
    throw invalidChange(place, 'wants "base64" in the standard alphabet, with padding');
  }
}

function decodeLine(line: Uint8Array, place: Place): string {
  try {
    return decoder.decode(line);
  } catch (cause) {
    throw invalidChange(place, "wants a line of UTF-8, found other bytes", cause);
  }
}

function parseLine(
  text: string,
  place: Place,
): { keyGroup: number; data?: string; base64?: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalidChange(place, `wants a line of JSON like ${WANTED}`, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidChange(place, `wants an object like ${WANTED}`);
  }
  const unknown = Object.keys(value).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) {
    throw invalidChange(
      place,
      `wants an object like ${WANTED}, found the field ${JSON.stringify(unknown)}`,
    );
  }
  const { keyGroup = 0, data, base64 } = value as Record<string, unknown>;
  if (
    typeof keyGroup !== "number" || !Number.isInteger(keyGroup) || keyGroup < META_KEY_GROUP ||
    keyGroup > KEY_GROUP_MAX
  ) {
    throw invalidChange(
      place,
      `wants "keyGroup" -1 or a whole number from 0 to ${KEY_GROUP_MAX}, found ${
        JSON.stringify(keyGroup)
      }`,
    );
  }
  if (typeof data === "string" && base64 === undefined) {
    if (data.isWellFormed()) return { keyGroup, data };
    throw invalidChange(
      place,
      'wants text in "data", found half of a surrogate pair; use "base64"',
    );
  }
  if (typeof base64 === "string" && data === undefined) return { keyGroup, base64 };
  throw invalidChange(place, 'wants either "data" or "base64", a string');
}
