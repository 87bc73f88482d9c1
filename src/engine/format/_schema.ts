import * as v from "valibot";
import { TidemarkError } from "../errors.ts";
import { COUNT_MAX, KEY_GROUP_MAX, META_KEY_GROUP, U64_MAX } from "../limits.ts";
import { UUID } from "../uuid.ts";

/** A whole number from 0 to 2^53 - 1. */
export const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(COUNT_MAX));
/** A uuid in its usual form. */
export const uuid = v.pipe(v.string(), v.regex(UUID));
/** A checksum: 16 hex digits. */
export const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/));
/** A range of key groups, both ends included. */
export const keyGroups = v.pipe(
  v.tuple([keyGroup(), keyGroup()]),
  v.check(([from, to]) => from <= to, "wants from <= to"),
  v.readonly(),
);
/** A u64: a decimal string in JSON, a bigint in TypeScript. */
export const u64 = v.pipe(
  v.string(),
  v.regex(/^(0|[1-9][0-9]{0,19})$/),
  v.transform((digits) => BigInt(digits)),
  v.check((value) => value <= U64_MAX, "wants a u64"),
);

function keyGroup() {
  return v.pipe(
    v.number(),
    v.integer(),
    v.minValue(META_KEY_GROUP),
    v.maxValue(KEY_GROUP_MAX),
  );
}

/** Checks a decoded fact against its schema. @throws {TidemarkError} `corrupt`, naming the key and the place. */
export function parseFact<Schema extends v.GenericSchema>(
  schema: Schema,
  key: string,
  body: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, body);
  if (result.success) return result.output;
  const issue = result.issues[0];
  const place = v.getDotPath(issue) ?? "the body";
  throw new TidemarkError("corrupt", `Cannot read ${key}: ${place}: ${issue.message}`, {
    details: { key, place },
  });
}

/**
 * Checks a fact before it is written: one that could not be read again would take the job with it.
 *
 * @throws {TidemarkError} `internal`, naming the key and the place.
 */
export function checkReadable(schema: v.GenericSchema, key: string, json: unknown): void {
  const result = v.safeParse(schema, json);
  if (result.success) return;
  const issue = result.issues[0];
  const place = v.getDotPath(issue) ?? "the body";
  throw new TidemarkError("internal", `Cannot write ${key}: ${place}: ${issue.message}`, {
    outcome: "not-applied",
    details: { key, place },
  });
}
