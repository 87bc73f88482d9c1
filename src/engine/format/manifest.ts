/** The body of `checkpoints/<uuid>.json`: everything that a checkpoint needs. @module */
import * as v from "valibot";
import {
  checkIdentity,
  checkReadable,
  count,
  hash,
  keyGroups,
  parseFact,
  u64,
  uuid,
} from "./_schema.ts";
import { decodeFact, encodeFact } from "./fact.ts";

const FILE = v.strictObject({
  key: v.string(),
  /** As in the file's own header. */
  store: uuid,
  job: v.string(),
  log: v.string(),
  epoch: count,
  number: count,
  uuid,
  /** Length up to which the checkpoint needs the file: the end of a whole batch. */
  length: count,
  /** Checksum of the batch index that ends there. */
  indexHash: hash,
});

const WRITER = v.strictObject({
  writer: v.string(),
  keyGroups,
  /** First change set that the checkpoint holds. */
  baseSequenceNumber: count,
  /** Offset of the first change that the checkpoint holds. */
  baseOffset: count,
  /** The checkpoint ends before this change set. */
  sequenceNumber: count,
  /** The checkpoint ends before this offset. */
  nextOffset: count,
  /** Whether nothing is appended to the writer any more. */
  isClosed: v.boolean(),
});

const SCHEMA = v.strictObject({
  key: v.string(),
  store: uuid,
  job: v.string(),
  uuid,
  parent: v.nullable(uuid),
  fingerprint: u64,
  identifier: v.nullable(v.string()),
  steps: v.nullable(u64),
  processedRecords: v.nullable(u64),
  createdAtMs: count,
  epoch: count,
  run: count,
  engineVersion: v.string(),
  files: v.array(FILE),
  writers: v.array(WRITER),
  metadata: v.unknown(),
});

/** What a manifest says. */
export type ManifestBody = v.InferOutput<typeof SCHEMA>;
/** A change file that a checkpoint needs. */
export type ManifestFile = v.InferOutput<typeof FILE>;
/** Where a writer stands in a checkpoint. */
export type ManifestWriter = v.InferOutput<typeof WRITER>;

const KIND = "manifest";

/** Writes a manifest. @throws {TidemarkError} `internal` for one that could not be read again. */
export function encodeManifest(body: ManifestBody): Uint8Array {
  const json = {
    ...body,
    fingerprint: String(body.fingerprint),
    steps: body.steps === null ? null : String(body.steps),
    processedRecords: body.processedRecords === null ? null : String(body.processedRecords),
  };
  // Files and writers are not a caller's words, and there may be ten thousands of them.
  checkReadable(SCHEMA, body.key, { ...json, files: [], writers: [] });
  return encodeFact(KIND, json);
}

/** Reads a manifest. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeManifest(
  key: string,
  bytes: Uint8Array,
  wanted: { readonly store: string; readonly job: string },
): ManifestBody {
  const body = parseFact(SCHEMA, key, decodeFact(KIND, key, bytes));
  checkIdentity(key, body, wanted);
  return body;
}
