/** The body of `readers/<uuid>.json`: what a reader in another process holds on to. @module */
import * as v from "valibot";
import { decodeJobFact, type FactHome } from "./_job_fact.ts";
import { count, uuid } from "./_schema.ts";
import { encodeFact } from "./fact.ts";

const SCHEMA = v.strictObject({
  key: v.string(),
  store: uuid,
  job: v.string(),
  /** The checkpoint that is read; for the tail the `head` that it goes on from. */
  checkpoint: v.nullable(uuid),
  /** Whether the tail is read: all that came after the checkpoint. */
  isTail: v.boolean(),
  createdAtMs: count,
});

/** What a reader holds on to. */
export type LeaseBody = v.InferOutput<typeof SCHEMA>;

const KIND = "lease";

/** Writes a lease. */
export function encodeLease(body: LeaseBody): Uint8Array {
  return encodeFact(KIND, body);
}

/** Reads a lease. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeLease(
  key: string,
  bytes: Uint8Array,
  home: FactHome,
): LeaseBody {
  return decodeJobFact(SCHEMA, KIND, { key, bytes, home });
}
