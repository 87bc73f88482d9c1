/** The body of `TIDEMARK-LOCAL`: what makes a folder one of local copies, and of which store. @module */
import * as v from "valibot";
import { count, parseFact, uuid } from "./_schema.ts";
import { decodeFact, encodeFact } from "./fact.ts";

/** Key of the marker in a folder of local copies. */
export const LOCAL_MARKER_KEY = "TIDEMARK-LOCAL";

const SCHEMA = v.strictObject({ store: uuid, createdAtMs: count });

/** What the marker says. */
export type LocalMarkerBody = v.InferOutput<typeof SCHEMA>;

const KIND = "local-copies";

/** Writes the marker. */
export function encodeLocalMarker(body: LocalMarkerBody): Uint8Array {
  return encodeFact(KIND, body);
}

/** Reads the marker. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeLocalMarker(bytes: Uint8Array): LocalMarkerBody {
  return parseFact(SCHEMA, LOCAL_MARKER_KEY, decodeFact(KIND, LOCAL_MARKER_KEY, bytes));
}
