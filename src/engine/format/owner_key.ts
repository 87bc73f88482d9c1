/** The body of `owners/<epoch>.json`: who took the epoch. @module */
import * as v from "valibot";
import { decodeJobFact, type FactHome } from "./_job_fact.ts";
import { count, uuid } from "./_schema.ts";
import { encodeFact } from "./fact.ts";

const SCHEMA = v.strictObject({
  key: v.string(),
  store: uuid,
  job: v.string(),
  /** The epoch. */
  number: count,
  /** Tells this creation from any other. */
  writeId: uuid,
  createdAtMs: count,
});

/** Who took an epoch. */
export type OwnerKeyBody = v.InferOutput<typeof SCHEMA>;

const KIND = "owner";

/** Writes an owner key's body. */
export function encodeOwnerKey(body: OwnerKeyBody): Uint8Array {
  return encodeFact(KIND, body);
}

/** Reads an owner key. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeOwnerKey(
  key: string,
  bytes: Uint8Array,
  home: FactHome,
): OwnerKeyBody {
  return decodeJobFact(SCHEMA, KIND, { key, bytes, home });
}
