/** What requests may say: names in their paths, query, headers and JSON bodies. */
import * as v from "valibot";
import { COUNT_MAX, KEY_GROUP_MAX, NAME_LENGTH_MAX, U64_MAX } from "../engine/limits.ts";
import { checkName, NAME } from "../engine/paths.ts";
import type { At, KeyGroupRange } from "../engine/types.ts";
import { UUID, UUID_PATTERN } from "../engine/uuid.ts";
import { about, byName } from "./_values.ts";

const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** A name in a path; the engine says which it takes. */
function name(what: string, about: string) {
  return v.pipe(
    v.string(),
    v.metadata({ pattern: NAME.source, minLength: 1, maxLength: NAME_LENGTH_MAX }),
    v.description(about),
    v.transform((text) => checkName(what, text)),
  );
}

const u64 = v.pipe(
  v.union([
    v.pipe(
      v.string(),
      v.regex(/^[0-9]{1,20}$/, "wants a decimal string"),
      v.metadata({ format: "uint64" }),
    ),
    v.pipe(
      v.number(),
      v.safeInteger("wants a decimal string above 2^53 - 1"),
      v.minValue(0, "wants 0 to 2^64 - 1"),
    ),
  ], "wants a u64 as a decimal string"),
  v.transform((value): bigint => BigInt(value)),
  v.check((value) => value <= U64_MAX, "wants 0 to 2^64 - 1"),
);

function isUuid(text: string): boolean {
  return UUID.test(text);
}

const uuid = v.pipe(
  v.string("wants a checkpoint's uuid"),
  v.toLowerCase(),
  v.check(isUuid, "wants a checkpoint's uuid"),
  v.metadata({ format: "uuid" }),
);

/** `latest`, a checkpoint's uuid, and what else is named. */
function place(...others: readonly string[]) {
  const words = ["latest", ...others];
  return v.pipe(
    v.string(),
    v.toLowerCase(),
    v.metadata({ pattern: `^(?:${words.join("|")}|${UUID_PATTERN})$` }),
    v.check(
      (text) => words.includes(text) || isUuid(text),
      `wants ${words.join(", ")}, or a checkpoint's uuid`,
    ),
    v.transform((text): At => text),
  );
}

const flag = v.pipe(
  v.picklist(["true", "false"], "wants true or false"),
  v.transform((text) => text === "true"),
);

const wholeNumber = v.pipe(
  v.number("wants a whole number"),
  v.safeInteger("wants a whole number"),
  v.minValue(0, "wants a whole number that is not negative"),
);

const keyGroup = v.pipe(
  v.number("wants a whole number"),
  v.integer("wants a whole number"),
  v.minValue(0, `wants 0 to ${KEY_GROUP_MAX}`),
  v.maxValue(KEY_GROUP_MAX, `wants 0 to ${KEY_GROUP_MAX}`),
);

const count = v.pipe(
  v.string(),
  v.metadata({ type: "integer", minimum: 0, maximum: COUNT_MAX }),
  v.check((text) => /^[0-9]{1,16}$/.test(text), "wants a whole number"),
  v.transform(Number),
  v.maxValue(COUNT_MAX, `wants at most ${COUNT_MAX}`),
);

const KEY_GROUPS = /^(-1|[0-9]{1,10})-(-1|[0-9]{1,10})$/;

const keyGroups = v.pipe(
  v.string(),
  v.regex(KEY_GROUPS, "wants a range such as 0-127"),
  v.metadata({ examples: ["0-127", "-1-2147483647"] }),
  v.transform((text): KeyGroupRange => {
    const [, from, to] = KEY_GROUPS.exec(text) ?? [];
    return [Number(from), Number(to)];
  }),
  v.check(([from, to]) => from <= to && to <= KEY_GROUP_MAX, "wants a range that is not empty"),
);

const quarantineMs = v.optional(about(
  "How long, in milliseconds, what goes rests with its bytes in place; 0 removes it at once. " +
    "10 minutes unless told",
  wholeNumber,
));
const except = v.optional(about(
  "Checkpoints that stay on top of what retention keeps",
  v.array(uuid),
));

/** The job in a path. */
export const JOB_PATH = { job: name("job", "The job's name") };
/** A writer in a path. */
export const WRITER_PATH = { ...JOB_PATH, writer: name("writer", "The writer's name") };
/** A state that is to be written, in a path. */
export const STATE_PATH = { ...JOB_PATH, state: name("state", "The state's name") };
/** A checkpoint in a path, by its uuid. */
export const UUID_PATH = { ...JOB_PATH, uuid: about("The checkpoint's uuid", uuid) };
/** A checkpoint in a path. */
export const CHECKPOINT_PATH = {
  ...JOB_PATH,
  uuid: about("The checkpoint: its uuid, or latest", place()),
};
/** A state of a checkpoint in a path. */
export const CHECKPOINT_STATE_PATH = {
  ...CHECKPOINT_PATH,
  state: name("state", "The state's name"),
};

/** `PUT …/retention`. */
export const RETENTION_BODY = v.pipe(
  v.strictObject({
    minCount: about(
      "So many of the newest stay, whatever their age",
      v.pipe(wholeNumber, v.minValue(1, "wants at least 1")),
    ),
    maxCount: v.optional(about("Not more than so many stay; not below minCount", wholeNumber)),
    maxAgeMs: v.optional(
      about("Beyond minCount, what is older than so many milliseconds goes", wholeNumber),
    ),
  }),
  v.examples([{ minCount: 2 }, { minCount: 3, maxCount: 10, maxAgeMs: 86_400_000 }]),
);

/** `PUT /v1/jobs/{job}`. */
export const JOB_BODY = v.strictObject({
  fingerprint: v.optional(about("Identifies the shape of the pipeline's state", u64)),
  retention: v.optional(about("Which checkpoints stay; as a whole", RETENTION_BODY)),
});
/** `POST …/checkpoints`. */
export const CHECKPOINT_BODY = v.strictObject({
  uuid: v.optional(about(
    "Its uuid, so that who lost the answer can look whether it was made",
    v.pipe(uuid, v.notValue(NIL_UUID, "wants another uuid than the nil one")),
  )),
  identifier: v.optional(about("A name for people", v.string())),
  steps: v.optional(about("Steps of the pipeline", u64)),
  processedRecords: v.optional(about("Records that the pipeline has processed", u64)),
  metadata: v.optional(about(
    "JSON that belongs to the checkpoint, such as source offsets; at most 64 KiB",
    v.unknown(),
  )),
  states: v.optional(about(
    "State objects that belong to the checkpoint, by name: written for it, or shared with another",
    byName(v.union(
      [v.strictObject({ from: place() }), v.strictObject({ written: uuid })],
      'wants { "from": latest or uuid } or { "written": uuid }',
    )),
  )),
});
/** `POST …/resume`. */
export const RESUME_BODY = v.strictObject({
  at: v.optional(about("Where to start again; latest unless told", place("tail"))),
  acceptFingerprints: v.optional(about(
    "Fingerprints, besides the job's own, that the checkpoint may have",
    v.array(u64),
  )),
  fallback: v.optional(about(
    "Whether to go on from the next older checkpoint when the wanted one can't be read whole",
    v.boolean(),
  )),
});
/** `POST …/gc`. */
export const GC_BODY = v.strictObject({
  dryRun: v.optional(about("Whether only to say what would be done", v.boolean())),
  except,
  quarantineMs,
});
/** `POST …/salvage`. */
export const SALVAGE_BODY = v.strictObject({
  dryRun: v.optional(about("Whether only to answer the plan", v.boolean())),
  accept: v.optional(about("The plan that is accepted, by its id", v.string())),
});
/** `POST …/explain`. */
export const EXPLAIN_BODY = v.strictObject({
  key: about("The object's key, or a checkpoint's uuid", v.string()),
  except,
  quarantineMs,
});
/** `PUT …/pin`. */
export const PIN_BODY = v.strictObject({
  reason: v.optional(about("Why, for people", v.string())),
});
/** `POST …/verify`. */
export const VERIFY_BODY = v.strictObject({
  level: v.optional(about(
    "full reads every byte and checks every checksum; quick looks whether everything is there",
    v.picklist(["quick", "full"], "wants quick or full"),
  )),
});
/** `POST …/persist`. */
export const PERSIST_BODY = v.strictObject({
  from: v.optional(about(
    "Sequence number of the first change set to wait for, not above the active one",
    v.pipe(wholeNumber, v.examples([0])),
  )),
});
/** `POST …/truncate`. */
export const TRUNCATE_BODY = v.strictObject({
  to: about(
    "Change sets below this sequence number are given up: one that roll or a checkpoint gave",
    v.pipe(wholeNumber, v.examples([0])),
  ),
});
/** `PUT …/writers/{writer}`. */
export const WRITER_BODY = v.strictObject({
  keyGroups: v.optional(about(
    "First and last key group that it takes, both included; metadata (-1) it takes in any case",
    v.pipe(v.strictTuple([keyGroup, keyGroup]), v.examples([[0, 127], [0, KEY_GROUP_MAX]])),
  )),
});
/** A body that says nothing. */
export const EMPTY_BODY = v.strictObject({});

/** Query of an append. */
export const APPEND_QUERY = {
  ack: v.optional(about(
    "What is waited for: durable (unless told): the changes are on disk; buffered: they are in " +
      "memory, and may be lost",
    v.picklist(["durable", "buffered"], "wants durable or buffered"),
  )),
};
/** Headers of an append. */
export const APPEND_HEADERS = {
  "tidemark-offset": v.optional(about(
    "Expected offset of the first change, so that a repeated append is taken once; without it " +
      "the changes go to the end",
    count,
  )),
  "tidemark-run": v.optional(about(
    "The run that resume answered; required with an offset once the job has been resumed",
    count,
  )),
};
/** Headers of a checkpoint. */
export const CHECKPOINT_HEADERS = {
  "idempotency-key": v.optional(about(
    "Makes it once, however often it is asked for: 1 to 128 printable ASCII characters. The same " +
      "request answers the checkpoint that was made, another one is idempotency-conflict",
    v.pipe(v.string(), v.metadata({ pattern: "^[!-~](?:[ -~]{0,126}[!-~])?$" })),
  )),
  "tidemark-run": v.optional(about(
    "The run that resume answered: once another has begun, the checkpoint is fenced",
    count,
  )),
};
/** Query of a deletion of a whole job. */
export const DELETE_JOB_QUERY = {
  confirm: about("The job's name once more, as everything of it goes", v.string()),
};
/** Query of an export. */
export const EXPORT_QUERY = {
  at: v.optional(about(
    "tail (unless told): all of the job; latest or a checkpoint's uuid: that one alone",
    place("tail"),
  )),
};
/** Query of a restore. */
export const RESTORE_QUERY = {
  at: v.optional(about(
    "What is read: latest (unless told): the newest checkpoint; tail: everything durable; or a " +
      "checkpoint's uuid",
    place("tail"),
  )),
  from: v.optional(about("First offset", count)),
  keyGroups: v.optional(about("First and last key group, both included, as a-b", keyGroups)),
  fallback: v.optional(about(
    "Whether the next older checkpoint is read when this one can't be read whole",
    flag,
  )),
};
/** Query of a list of checkpoints. */
export const CHECKPOINTS_QUERY = {
  unpublished: v.optional(about("Whether those that are not published are listed too", flag)),
};
