/**
 * The bodies of `TIDEMARK`, which makes a folder a store, and of `TIDEMARK-LOCAL`, which makes one the place of a
 * store's local copies.
 * @module
 */
import * as v from "valibot";
import { MARKER_KEY } from "../paths.ts";
import { count, parseFact, uuid } from "./_schema.ts";
import { decodeFact, encodeFact } from "./fact.ts";

/** Key of the marker in a folder of local copies. */
export const LOCAL_MARKER_KEY = "TIDEMARK-LOCAL";

const SCHEMA = v.strictObject({ store: uuid, createdAtMs: count });

/** What a marker says. */
export type MarkerBody = v.InferOutput<typeof SCHEMA>;

const KIND = "store";
const LOCAL_KIND = "local-copies";

/** Writes the marker of a store. */
export function encodeMarker(body: MarkerBody): Uint8Array {
  return encodeFact(KIND, body);
}

/** Reads the marker of a store. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeMarker(bytes: Uint8Array): MarkerBody {
  return decode(KIND, MARKER_KEY, bytes);
}

/** Writes the marker of a folder of local copies. */
export function encodeLocalMarker(body: MarkerBody): Uint8Array {
  return encodeFact(LOCAL_KIND, body);
}

/** Reads the marker of a folder of local copies. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeLocalMarker(bytes: Uint8Array): MarkerBody {
  return decode(LOCAL_KIND, LOCAL_MARKER_KEY, bytes);
}

function decode(kind: string, key: string, bytes: Uint8Array): MarkerBody {
  return parseFact(SCHEMA, key, decodeFact(kind, key, bytes));
}
