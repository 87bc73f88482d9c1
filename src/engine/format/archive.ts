/** `archive.json`, the first file of a job's archive: what the job was, and which files follow. @module */
import * as v from "valibot";
import { ADOPTED_FILE, ADOPTED_WRITER } from "./adopted.ts";
import { count, parseFact, u64, uuid } from "./_schema.ts";
import { checkpointToJson } from "./checkpoint_facts.ts";
import { decodeFact, encodeFact } from "./fact.ts";
import { CATALOG_ENTRY, RETENTION } from "./generation.ts";
import { CHECKPOINTS_MAX } from "../limits.ts";

const SCHEMA = v.strictObject({
  /** Whose it was. */
  store: uuid,
  job: v.string(),
  engineVersion: v.string(),
  createdAtMs: count,
  /** As in the generation that was exported. */
  generation: count,
  epoch: count,
  run: count,
  fingerprint: u64,
  head: v.nullable(uuid),
  retention: RETENTION,
  /** Oldest first, each with size and XXH64 of its manifest. */
  checkpoints: v.pipe(v.array(CATALOG_ENTRY), v.maxLength(CHECKPOINTS_MAX)),
  /** What was appended after `head`, as `adopted` would list it; null: nothing, or it was left out. */
  tail: v.nullable(v.strictObject({
    files: v.array(ADOPTED_FILE),
    writers: v.array(ADOPTED_WRITER),
  })),
  /** The files that follow, in order: names as in the job's folder. */
  objects: v.array(v.strictObject({ name: v.string(), size: count })),
});

/** What an archive says of itself. */
export type ArchiveBody = v.InferOutput<typeof SCHEMA>;

const KIND = "archive";

/** Name of the first file of an archive. */
export const ARCHIVE_NAME = "archive.json";

/** Writes it. */
export function encodeArchive(body: ArchiveBody): Uint8Array {
  const checkpoints = body.checkpoints.map((entry) => checkpointToJson(entry));
  return encodeFact(KIND, { ...body, fingerprint: String(body.fingerprint), checkpoints });
}

/** Reads it. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeArchive(bytes: Uint8Array): ArchiveBody {
  return parseFact(SCHEMA, ARCHIVE_NAME, decodeFact(KIND, ARCHIVE_NAME, bytes));
}
