/** The body of `adopted/<epoch>-<uuid>.json`: what a recovery took over from older epochs. @module */
import * as v from "valibot";
import { decodeJobFact, type FactHome } from "./_job_fact.ts";
import { count, hash, keyGroups, uuid } from "./_schema.ts";
import { encodeFact } from "./fact.ts";

/** A file that was adopted. */
export const ADOPTED_FILE = v.strictObject({
  key: v.string(),
  /** Length up to which the file was adopted: the end of a whole batch. */
  length: count,
  /** Checksum of the batch index that ends there. */
  indexHash: hash,
  /** As in the file's own header, where it was imported. @default this store, and this job */
  store: v.optional(uuid),
  job: v.optional(v.string()),
});

/** Where the adopted part of a writer ends. */
export const ADOPTED_WRITER = v.strictObject({
  writer: v.string(),
  keyGroups,
  /** The adopted part ends before this sequence number. */
  sequenceNumber: count,
  /** The adopted part ends before this offset. */
  nextOffset: count,
});

const SCHEMA = v.strictObject({
  key: v.string(),
  store: uuid,
  job: v.string(),
  /** The epoch that adopted. */
  number: count,
  files: v.array(ADOPTED_FILE),
  writers: v.array(ADOPTED_WRITER),
});

/** What a recovery took over. */
export type AdoptedBody = v.InferOutput<typeof SCHEMA>;

const KIND = "adopted";

/** Writes what was adopted. */
export function encodeAdopted(body: AdoptedBody): Uint8Array {
  return encodeFact(KIND, body);
}

/** Reads what was adopted. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeAdopted(
  key: string,
  bytes: Uint8Array,
  home: FactHome,
): AdoptedBody {
  return decodeJobFact(SCHEMA, KIND, { key, bytes, home });
}
