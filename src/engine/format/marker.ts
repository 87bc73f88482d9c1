/** The body of `TIDEMARK`: what makes a folder a store. @module */
import * as v from "valibot";
import { MARKER_KEY } from "../paths.ts";
import { count, parseFact, uuid } from "./_schema.ts";
import { decodeFact, encodeFact } from "./fact.ts";

const SCHEMA = v.strictObject({ store: uuid, createdAtMs: count });

/** What the marker says. */
export type MarkerBody = v.InferOutput<typeof SCHEMA>;

const KIND = "store";

/** Writes the marker. */
export function encodeMarker(body: MarkerBody): Uint8Array {
  return encodeFact(KIND, body);
}

/** Reads the marker. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeMarker(bytes: Uint8Array): MarkerBody {
  return parseFact(SCHEMA, MARKER_KEY, decodeFact(KIND, MARKER_KEY, bytes));
}
