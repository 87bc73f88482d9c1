/** What the catalog and a checkpoint's manifest both say of the checkpoint. @module */
import * as v from "valibot";
import { count, hash, u64, uuid } from "./_schema.ts";

/** Their schemas, by name. */
export const CHECKPOINT_FACTS = {
  uuid,
  parent: v.nullable(uuid),
  fingerprint: u64,
  identifier: v.nullable(v.string()),
  steps: v.nullable(u64),
  processedRecords: v.nullable(u64),
  createdAtMs: count,
  epoch: count,
  run: count,
  /** Under which key it was asked for, and the XXH64 of what was. @default no key was given */
  idempotency: v.optional(v.strictObject({ key: v.string(), facts: hash })),
};

const SCHEMA = v.strictObject(CHECKPOINT_FACTS);

/** What is said of a checkpoint in both places. */
export type CheckpointFacts = v.InferOutput<typeof SCHEMA>;

/** The same with each u64 as text, as JSON has them. */
export function checkpointToJson<Body extends CheckpointFacts>(
  body: Body,
): Omit<Body, "fingerprint" | "steps" | "processedRecords"> & {
  fingerprint: string;
  steps: string | null;
  processedRecords: string | null;
} {
  return {
    ...body,
    fingerprint: String(body.fingerprint),
    steps: textOf(body.steps),
    processedRecords: textOf(body.processedRecords),
  };
}

function textOf(value: bigint | null): string | null {
  return value === null ? null : String(value);
}
