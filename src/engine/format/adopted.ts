/** The body of `adopted/<epoch>-<uuid>.json`: what a recovery took over from older epochs. @module */
import * as v from "valibot";
import { checkIdentity, count, hash, keyGroups, parseFact, uuid } from "./_schema.ts";
import { decodeFact, encodeFact } from "./fact.ts";

const FILE = v.strictObject({
  key: v.string(),
  /** Length up to which the file was adopted: the end of a whole batch. */
  length: count,
  /** Checksum of the batch index that ends there. */
  indexHash: hash,
});

const WRITER = v.strictObject({
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
  files: v.array(FILE),
  writers: v.array(WRITER),
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
  wanted: { readonly store: string; readonly job: string },
): AdoptedBody {
  const body = parseFact(SCHEMA, key, decodeFact(KIND, key, bytes));
  checkIdentity(key, body, wanted);
  return body;
}
