/** The body of `checkpoints/<uuid>.json`: everything that a checkpoint needs. @module */
import * as v from "valibot";
import { decodeJobFact, type FactHome } from "./_job_fact.ts";
import { checkReadable, count, hash, keyGroups, uuid } from "./_schema.ts";
import { CHECKPOINT_FACTS, checkpointToJson } from "./checkpoint_facts.ts";
import { encodeFact } from "./fact.ts";

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

const STATE = v.strictObject({
  /** Name of the state. */
  name: v.string(),
  key: v.string(),
  /** As in the object's own header. */
  store: uuid,
  job: v.string(),
  epoch: count,
  uuid,
  /** Bytes of the object. */
  length: count,
  /** Bytes of its content. */
  size: count,
  /** XXH64 of its content. */
  xxh64: hash,
});

const SCHEMA = v.strictObject({
  key: v.string(),
  store: uuid,
  job: v.string(),
  ...CHECKPOINT_FACTS,
  /** Where the tail goes on from the checkpoint. @default not known: older manifests lack it */
  tailFrom: v.optional(v.strictObject({ epoch: count, number: count })),
  engineVersion: v.string(),
  files: v.array(FILE),
  writers: v.array(WRITER),
  /** The first manifests of this version had none. */
  states: v.optional(v.array(STATE), []),
  metadata: v.unknown(),
});

/** What a manifest says. */
export type ManifestBody = v.InferOutput<typeof SCHEMA>;
/** A state object that a checkpoint needs. */
export type ManifestState = v.InferOutput<typeof STATE>;
/** Where a writer stands in a checkpoint. */
export type ManifestWriter = v.InferOutput<typeof WRITER>;

const KIND = "manifest";

/** Keys of every object that the checkpoint needs, its manifest included. */
export function keysNeededBy(
  { key, files, states }: Pick<ManifestBody, "key" | "files" | "states">,
): string[] {
  return [key, ...files.map((file) => file.key), ...states.map((state) => state.key)];
}

/** Writes a manifest. @throws {TidemarkError} `internal` for one that could not be read again. */
export function encodeManifest(body: ManifestBody): Uint8Array {
  const json = checkpointToJson(body);
  // Files, writers and states are not a caller's words, and there may be ten thousands of them.
  checkReadable(SCHEMA, body.key, { ...json, files: [], writers: [], states: [] });
  return encodeFact(KIND, json);
}

/** Reads a manifest. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeManifest(
  key: string,
  bytes: Uint8Array,
  home: FactHome,
): ManifestBody {
  return decodeJobFact(SCHEMA, KIND, { key, bytes, home });
}
