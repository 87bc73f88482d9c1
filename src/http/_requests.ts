/** What requests may say: their query, headers and JSON bodies, checked. */
import * as v from "valibot";
import type { At, KeyGroupRange } from "../engine/types.ts";
import { COUNT_MAX, KEY_GROUP_MAX, U64_MAX } from "../engine/limits.ts";
import { UUID } from "../engine/uuid.ts";
import { RequestError } from "./problem.ts";

const u64 = v.pipe(
  v.union([
    v.pipe(v.string(), v.regex(/^[0-9]{1,20}$/, "wants a decimal string")),
    v.pipe(v.number(), v.safeInteger("wants a decimal string above 2^53 - 1")),
  ], "wants a u64 as a decimal string"),
  v.transform((value): bigint => BigInt(value)),
  v.check((value) => value >= 0n && value <= U64_MAX, "wants 0 to 2^64 - 1"),
);

const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const at = v.pipe(
  v.string(),
  v.toLowerCase(),
  v.check(
    (value) => value === "latest" || value === "tail" || UUID.test(value),
    "wants latest, tail, or a checkpoint's uuid",
  ),
  v.transform((value): At => value),
);

const uuid = v.pipe(v.string(), v.toLowerCase(), v.regex(UUID, "wants a checkpoint's uuid"));

const flag = v.pipe(
  v.picklist(["true", "false"], "wants true or false"),
  v.transform((text) => text === "true"),
);

const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const count = v.pipe(
  v.string(),
  v.regex(/^[0-9]{1,16}$/, "wants a whole number"),
  v.transform(Number),
  v.maxValue(COUNT_MAX, `wants at most ${COUNT_MAX}`),
);

const keyGroups = v.pipe(
  v.string(),
  v.regex(/^(-1|[0-9]{1,10})-(-1|[0-9]{1,10})$/, "wants a range such as 0-127"),
  v.transform((text): KeyGroupRange => {
    const [, from, to] = /^(-1|[0-9]+)-(-1|[0-9]+)$/.exec(text) ?? [];
    return [Number(from), Number(to)];
  }),
  v.check(([from, to]) => from <= to && to <= KEY_GROUP_MAX, "wants a range that is not empty"),
);

/** `PUT /v1/jobs/{job}`. */
export const JOB_BODY = v.strictObject({
  fingerprint: v.optional(u64),
  retention: v.optional(v.strictObject({
    minCount: wholeNumber,
    maxCount: v.optional(wholeNumber),
    maxAgeMs: v.optional(wholeNumber),
  })),
});
/** `POST …/checkpoints`. */
export const CHECKPOINT_BODY = v.strictObject({
  uuid: v.optional(v.pipe(uuid, v.notValue(NIL_UUID, "wants another uuid than the nil one"))),
  identifier: v.optional(v.string()),
  steps: v.optional(u64),
  processedRecords: v.optional(u64),
  metadata: v.optional(v.unknown()),
  states: v.optional(v.record(
    v.string(),
    v.union([v.strictObject({ from: at }), v.strictObject({ written: uuid })]),
  )),
});
/** `POST …/resume`. */
export const RESUME_BODY = v.strictObject({
  at: v.optional(at),
  acceptFingerprints: v.optional(v.array(u64)),
  fallback: v.optional(v.boolean()),
});
/** `POST …/gc`. */
export const GC_BODY = v.strictObject({
  dryRun: v.optional(v.boolean()),
  except: v.optional(v.array(uuid)),
  quarantineMs: v.optional(wholeNumber),
});
/** `POST …/salvage`. */
export const SALVAGE_BODY = v.strictObject({
  dryRun: v.optional(v.boolean()),
  accept: v.optional(v.string()),
});
/** `POST …/explain`. */
export const EXPLAIN_BODY = v.strictObject({
  key: v.string(),
  except: v.optional(v.array(uuid)),
  quarantineMs: v.optional(wholeNumber),
});
/** `PUT …/pin`. */
export const PIN_BODY = v.strictObject({ reason: v.optional(v.string()) });
/** `POST …/verify`. */
export const VERIFY_BODY = v.strictObject({
  level: v.optional(v.picklist(["quick", "full"], "wants quick or full")),
});
/** `POST …/persist`. */
export const PERSIST_BODY = v.strictObject({
  from: v.optional(wholeNumber),
});

/** Query of an append. */
export const APPEND_QUERY = v.strictObject({
  ack: v.optional(v.picklist(["durable", "buffered"], "wants durable or buffered")),
});
/** Headers of an append. */
export const APPEND_HEADERS = v.object({
  "tidemark-offset": v.optional(count),
  "tidemark-run": v.optional(count),
});
/** Query of a restore. */
export const RESTORE_QUERY = v.strictObject({
  at: v.optional(at),
  from: v.optional(count),
  keyGroups: v.optional(keyGroups),
  fallback: v.optional(flag),
});
/** Query of a list of checkpoints. */
export const CHECKPOINTS_QUERY = v.strictObject({ unpublished: v.optional(flag) });
/** A route that takes no query. */
export const NO_QUERY = v.strictObject({});
/** The checkpoint in a path. */
export const CHECKPOINT_PATH = v.object({ at });
/** The checkpoint in a path that takes a uuid only. */
export const UUID_PATH = v.object({ uuid });

/** Checks one part of a request. @throws {RequestError} 400 that names every wrong field */
export function check<Schema extends v.GenericSchema>(
  schema: Schema,
  what: string,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const fields = result.issues.map((issue) => ({
    field: v.getDotPath(issue) ?? "",
    reason: issue.type === "strict_object" ? "is not known" : lowerFirst(issue.message),
  }));
  const reasons = fields.map(({ field, reason }) => `${field} ${reason}`.trim()).join("; ");
  throw new RequestError(400, `Cannot read the ${what}: ${reasons}`, { fields });
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
