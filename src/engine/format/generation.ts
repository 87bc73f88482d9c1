/** The body of `catalog/<generation>.json`: one immutable version of a job's catalog. @module */
import * as v from "valibot";
import { decodeJobFact, type FactHome } from "./_job_fact.ts";
import { TidemarkError } from "../errors.ts";
import { CATALOG_ENTRY_BYTES_MAX, CHECKPOINTS_MAX } from "../limits.ts";
import { checkReadable, count, hash, u64, uuid } from "./_schema.ts";
import { CHECKPOINT_FACTS, checkpointToJson } from "./checkpoint_facts.ts";
import { encodeFact } from "./fact.ts";

const OBJECT = v.strictObject({ key: v.string(), size: count, xxh64: hash });

/** A published checkpoint. */
export const CATALOG_ENTRY = v.strictObject({
  ...CHECKPOINT_FACTS,
  /** Bytes of the objects that the checkpoint needs. */
  size: count,
  manifest: OBJECT,
  /** Why it stays in any case. */
  pin: v.nullable(v.string()),
  /** When it was found that it goes; its bytes stay for a while. */
  quarantinedAtMs: v.nullable(count),
});

/** How long checkpoints stay. */
export const RETENTION = v.strictObject({
  minCount: v.pipe(count, v.minValue(1)),
  maxCount: v.optional(v.pipe(count, v.minValue(1))),
  maxAgeMs: v.optional(count),
});

const SCHEMA = v.strictObject({
  key: v.string(),
  store: uuid,
  job: v.string(),
  /** The generation. */
  number: count,
  /** Tells this creation from any other. */
  writeId: uuid,
  /** What led to this generation. */
  reason: v.picklist([
    "fence",
    "recovered",
    "checkpoint",
    "resume",
    "retention",
    "pin",
    "salvage",
    "deleted",
    "importing",
    "import",
  ]),
  createdAtMs: count,
  epoch: count,
  run: count,
  fingerprint: u64,
  /** The checkpoint from which the tail goes on. */
  head: v.nullable(uuid),
  /** Nothing before it belongs to the tail, but what `adopted` lists. */
  tailFrom: v.strictObject({ epoch: count, number: count }),
  adopted: v.nullable(OBJECT),
  retention: RETENTION,
  /** Keys at or after `tailFrom` that are being deleted; recovery never adopts them. */
  doomed: v.array(v.string()),
  /** Published checkpoints, oldest first. */
  checkpoints: v.pipe(v.array(CATALOG_ENTRY), v.maxLength(CHECKPOINTS_MAX)),
});

/** One version of a job's catalog. */
export type GenerationBody = v.InferOutput<typeof SCHEMA>;
/** A published checkpoint in the catalog. */
export type CatalogEntry = v.InferOutput<typeof CATALOG_ENTRY>;
/** An object that a generation relies on. */
export type ObjectReference = v.InferOutput<typeof OBJECT>;
/** Where the tail begins. */
export type TailFrom = GenerationBody["tailFrom"];

const KIND = "catalog";

/**
 * Checks that an entry fits the catalog, before anything is written for it.
 *
 * @throws {TidemarkError} `invalid-request`
 */
export function checkEntrySize(entry: CatalogEntry): void {
  const size = new TextEncoder().encode(JSON.stringify(checkpointToJson(entry))).length;
  if (size > CATALOG_ENTRY_BYTES_MAX) {
    throw new TidemarkError(
      "invalid-request",
      `Cannot list checkpoint ${entry.uuid}: its entry takes ${size} bytes of ${CATALOG_ENTRY_BYTES_MAX}; use a shorter identifier, and metadata for the rest`,
      { details: { size, sizeMax: CATALOG_ENTRY_BYTES_MAX } },
    );
  }
}

/** Entries that were found to be readable: they never change, and each goes through many generations. */
const readable = new WeakSet<CatalogEntry>();

/** Writes a generation. @throws {TidemarkError} `internal` for one that could not be read again. */
export function encodeGeneration(body: GenerationBody): Uint8Array {
  const checkpoints = body.checkpoints.map((entry) => checkpointToJson(entry));
  const json = { ...body, fingerprint: String(body.fingerprint), checkpoints };
  const unknown = checkpoints.filter((_, i) => !readable.has(body.checkpoints[i]));
  checkReadable(SCHEMA, body.key, { ...json, checkpoints: unknown });
  for (const entry of body.checkpoints) readable.add(entry);
  return encodeFact(KIND, json);
}

/** Reads a generation. @throws {TidemarkError} `corrupt`, `unsupported-format` */
export function decodeGeneration(
  key: string,
  bytes: Uint8Array,
  home: FactHome,
): GenerationBody {
  return decodeJobFact(SCHEMA, KIND, { key, bytes, home });
}
