/** What the header frames of all kinds of files have in common. @module */
import { FORMAT_VERSION } from "../limits.ts";
import { decodeCbor } from "./_cbor.ts";
import { HEADER_FRAME, openFrame } from "./_frame.ts";
import { Malformed, NewerFormat } from "./_malformed.ts";
import { wantCount, wantSame } from "./_want.ts";

/**
 * Opens a header frame that is whole. Kind and version come first: a newer format may say all else differently.
 *
 * @param names Keys of the map, in order; `kind` and `version` are the first.
 * @throws {Malformed}
 * @throws {NewerFormat}
 */
export function openHeader<Name extends string>(
  frame: Uint8Array,
  kind: string,
  names: readonly Name[],
): { fields: Readonly<Record<Name, unknown>>; hash: bigint } {
  const { item, hash } = openFrame(HEADER_FRAME, frame);
  const value = decodeCbor(item);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Malformed("its content is not a map");
  }
  const fields = value as Readonly<Record<Name | "kind" | "version", unknown>>;
  wantSame("kind", fields.kind, kind);
  const version = wantCount("format version", fields.version);
  if (version > FORMAT_VERSION) throw new NewerFormat(version);
  wantSame("format version", version, FORMAT_VERSION);
  wantSame("fields", Object.keys(fields).join(" "), names.join(" "));
  return { fields, hash };
}
