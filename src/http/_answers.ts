/** What JSON answers are. The engine's objects go out as they are: these say what is in them. */
import * as v from "valibot";
import { COUNT_MAX, KEY_GROUP_MAX, META_KEY_GROUP } from "../engine/limits.ts";
import { STATUS_OF } from "./problem.ts";
import { about, u64Text, uuidText } from "./_values.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(COUNT_MAX));
const text = v.string();
const flag = v.boolean();
const timeMs = about("Milliseconds since 1970", count);

/** Which checkpoints stay. */
export const RETENTION = v.object({
  minCount: count,
  maxCount: v.optional(count),
  maxAgeMs: v.optional(count),
});

const XXH64 = v.pipe(text, v.regex(/^[0-9a-f]{16}$/));

const KEY_GROUP = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(META_KEY_GROUP),
  v.maxValue(KEY_GROUP_MAX),
);

const KEY_GROUPS = about(
  "First and last key group, both included",
  v.strictTuple([KEY_GROUP, KEY_GROUP]),
);

const OFFSETS = v.object({
  writer: text,
  from: count,
  to: about("Offset after the last of them", count),
});

/** Something that is bad. */
const FINDING = v.object({
  key: about("The object's key", text),
  reason: about("What is wrong with it, for people", text),
  from: v.optional(about("First byte of what is bad", count)),
  to: v.optional(about("First byte after what is bad", count)),
});

/** How a writer stands. */
export const WRITER = v.object({
  writer: text,
  keyGroups: KEY_GROUPS,
  nextOffset: about("Offset that the next change gets", count),
  durableOffset: about("Every change below it is durable", count),
  sequenceNumber: about("Of the active change set", count),
  isClosed: v.optional(about("Whether it takes nothing more", flag)),
});

const CHECKPOINT_ENTRIES = {
  uuid: uuidText,
  parent: v.optional(about("The checkpoint that it comes from", uuidText)),
  identifier: v.optional(about("A name for people", text)),
  fingerprint: u64Text,
  steps: v.optional(u64Text),
  processedRecords: v.optional(u64Text),
  size: about("Bytes that it needs, shared ones included", count),
  createdAtMs: timeMs,
  epoch: count,
  run: count,
  idempotencyKey: v.optional(about("Under which key it was asked for", text)),
  isHead: about("Whether the writers go on from it", flag),
  isAbandoned: about("Whether the job does not come from it any more", flag),
  pin: v.optional(about("Why it stays whatever retention says", text)),
  quarantinedAtMs: v.optional(about("When retention let it go", timeMs)),
};

/** One checkpoint, as the list has it. */
export const CHECKPOINT = v.object(CHECKPOINT_ENTRIES);

/** A state object. */
export const STATE = v.object({
  name: text,
  uuid: uuidText,
  key: text,
  size: about("Bytes of the content", count),
  storedBytes: about("Bytes that the object takes", count),
  xxh64: about("XXH64 of the content", XXH64),
});

/** One checkpoint, with what stands in its manifest. */
export const CHECKPOINT_DETAILS = v.object({
  ...CHECKPOINT_ENTRIES,
  metadata: about("JSON that the pipeline gave, or null", v.unknown()),
  engineVersion: text,
  formatVersion: count,
  writers: v.array(v.object({
    writer: text,
    keyGroups: KEY_GROUPS,
    nextOffset: count,
    sequenceNumber: count,
    isClosed: v.optional(flag),
  })),
  files: v.array(v.object({ key: text, length: count })),
  states: v.array(STATE),
});

/** What a collection did. */
export const COLLECTION = v.object({
  isDryRun: flag,
  removed: about("Checkpoints that the catalog lists no more", v.array(uuidText)),
  quarantined: about("Checkpoints that rest in quarantine from now on", v.array(uuidText)),
  verdicts: v.array(v.object({ uuid: uuidText, stays: flag, reason: text })),
  objects: v.array(v.object({
    key: text,
    size: count,
    action: v.picklist(["delete", "keep"]),
    reason: text,
  })),
  deletedBytes: count,
  problems: v.array(FINDING),
});

const PROBLEM = v.object({
  type: about("urn:tidemark:error: and the code", text),
  title: about("What happened, in a few words", text),
  status: count,
  detail: about("What happened to what, and what to do next", text),
  code: about("Stable; docs/ERRORS.md explains every one", text),
  kind: about("What can be done about it", v.picklist(Object.keys(STATUS_OF))),
  outcome: about("Whether it took effect", v.picklist(["applied", "not-applied", "unknown"])),
  retryable: about("Whether the same request may succeed later", flag),
  details: about("Facts for programs", v.record(text, v.unknown())),
  nextStep: text,
});

/** A problem of one status. */
export function problemOfStatus(status: number, codes: readonly string[]): v.GenericSchema {
  return v.intersect([
    PROBLEM,
    v.object({ status: v.literal(status), code: v.picklist(codes) }),
  ]);
}

const USAGE_OF_KIND = v.object({ bytes: count, objects: count });

/** `/healthz`. */
export const HEALTH = v.object({ status: v.literal("ok") });
/** `/readyz`, when it is ready. */
export const READY = v.object({ status: v.literal("ready"), store: uuidText });
const STATUS_PROBLEM = v.object({
  code: about("The error's code", text),
  message: about("What it says, for people", text),
});
/** `/readyz`, when it is not. */
export const NOT_READY = v.object({
  status: v.picklist(["closing", "unavailable"]),
  store: v.optional(uuidText),
  code: v.optional(about("Code of the first problem", text)),
  reason: v.optional(
    about("What the first problem is, for people; with the right read only", text),
  ),
  problems: v.optional(v.array(v.object({
    what: about(
      "store: it is gone, or can't be written; room: there is none; job: another owner took it",
      v.picklist(["store", "room", "job"]),
    ),
    job: v.optional(about("The job's name; with the right read only", text)),
    code: text,
    reason: v.optional(about("For people; with the right read only", text)),
  }))),
});
/** `GET /v1/store`. */
export const STORE = v.object({
  store: about("Its uuid", uuidText),
  location: about("Where it is", text),
  version: about("Of the sidecar", text),
  formatVersion: about("Of what is stored", count),
  uptimeMs: about("Since the sidecar began", count),
  jobs: about("How many there are", count),
  openJobs: v.array(v.object({
    job: text,
    epoch: count,
    run: count,
    isServing: about("Whether it takes changes", flag),
    problem: v.optional(STATUS_PROBLEM),
  })),
  isFull: about("Whether there is no room", flag),
  problem: v.optional(STATUS_PROBLEM),
  bytesFree: v.optional(about("That can still be written", count)),
  bytesTotal: v.optional(about("Of the place that the store is in", count)),
  bytesUsed: v.optional(about("Of all objects of the store; counted where it is limited", count)),
  bytesMax: v.optional(about("That the store may take", count)),
});
/** `GET /v1/jobs`. */
export const JOBS = v.object({ jobs: v.array(v.object({ job: text })) });
/** `DELETE /v1/jobs/{job}`. */
export const JOB_DELETION = v.object({
  job: text,
  checkpoints: about("That it had", count),
  deletedObjects: count,
  deletedBytes: count,
  problems: about("What could not be deleted; deleting it again tries again", v.array(FINDING)),
});
/** `PUT /v1/jobs/{job}/archive`. */
export const JOB_IMPORT = v.object({
  job: text,
  from: about("Where the archive comes from", v.object({ store: uuidText, job: text })),
  checkpoints: count,
  objects: count,
  bytes: count,
  head: about("The checkpoint that the job goes on from", v.nullable(uuidText)),
  run: count,
});
/** `GET …/writers`. */
export const WRITERS = v.object({ writers: v.array(WRITER) });
/** `POST …/roll`. */
export const ROLLED = v.object({
  sequenceNumber: about("Of the change set that is active now", count),
});
/** One job. */
export const JOB = v.object({
  job: text,
  fingerprint: u64Text,
  epoch: about("Counts the job's owners", count),
  run: about("Counts how often its pipeline has begun or resumed", count),
  isAvailable: about("Whether an append would be taken now", flag),
  head: about("The checkpoint that the writers go on from, or null", v.nullable(uuidText)),
  checkpoints: about("How many there are", count),
  writers: v.array(WRITER),
  retention: RETENTION,
  recovery: v.object({
    adoptedSets: count,
    adoptedChanges: count,
    adopted: v.array(OFFSETS),
    dropped: v.array(OFFSETS),
    copiedBatches: count,
    torn: v.array(FINDING),
    warnings: v.array(text),
  }),
});
/** `POST …/resume`. */
export const RESUMED = v.object({
  run: count,
  epoch: count,
  checkpoint: about(
    "Where it starts; null: from nothing, or from the tail",
    v.nullable(CHECKPOINT_DETAILS),
  ),
  writers: v.array(v.object({ writer: text, nextOffset: count, sequenceNumber: count })),
  dropped: about("What is no part of the job any more", v.array(OFFSETS)),
});
/** An append that was taken. */
export const APPENDED = v.object({
  offset: about("Of the first change", count),
  nextOffset: about("After the last change", count),
  sequenceNumber: count,
  ack: v.picklist(["durable", "buffered"]),
  mayBeLost: v.optional(about(
    "With ack=buffered: the changes are in memory, and may be lost until they are durable",
    v.literal(true),
  )),
  verified: v.optional(about(
    "The changes were appended before, and can't be compared any more: they were truncated",
    v.literal(false),
  )),
});
/** A change as JSON, both ways. */
export const CHANGE = v.union([
  v.strictObject({ keyGroup: v.optional(KEY_GROUP), data: about("Its bytes, as text", text) }),
  v.strictObject({
    keyGroup: v.optional(KEY_GROUP),
    base64: about("Its bytes, where they are no text", v.pipe(text, v.base64())),
  }),
]);
/** A restore as one JSON object. */
export const RESTORED = v.object({
  changes: v.array(CHANGE),
  end: v.object({
    count: about("How many changes there are", count),
    hash: about("XXH64 of the changes as a CBOR sequence", XXH64),
    confirmed: about("How many of them are known to stay", count),
  }),
});
/** `POST …/persist`. */
export const PERSISTED = v.object({
  from: count,
  next: count,
  durableOffset: count,
  segments: v.array(v.object({
    writer: text,
    sequenceNumber: count,
    key: text,
    batch: count,
    byteLength: count,
    localKey: v.optional(text),
  })),
  isLocal: flag,
});
/** A list of checkpoints. */
export const CHECKPOINTS = v.object({
  checkpoints: v.array(CHECKPOINT),
  unpublished: v.optional(v.array(v.object({
    uuid: uuidText,
    state: v.picklist(["preparing", "failed"]),
    identifier: v.optional(text),
    startedAtMs: timeMs,
    reason: v.optional(text),
  }))),
});
/** `POST …/abort`. */
export const GIVEN_UP = v.object({ uuid: uuidText, isAborted: flag });
/** `POST …/explain`. */
export const EXPLANATION = v.object({
  key: text,
  size: v.optional(count),
  action: v.picklist(["delete", "keep", "none"]),
  reason: text,
});
/** `GET …/usage`. */
export const USAGE = v.object({
  bytes: count,
  objects: count,
  kinds: about("By the job's folders", v.record(text, USAGE_OF_KIND)),
  checkpoints: v.array(v.object({
    uuid: uuidText,
    stateBytes: count,
    referencedBytes: count,
    exclusiveBytes: count,
    sharedBytes: count,
  })),
});
/** `POST …/verify`. */
export const VERIFIED = v.object({
  ok: flag,
  checkpoints: count,
  files: count,
  states: count,
  bytes: count,
  changes: count,
  problems: v.array(FINDING),
});
/** `POST …/salvage`. */
export const SALVAGE = v.object({
  job: text,
  id: about("Names the plan", text),
  isNeeded: flag,
  isDone: flag,
  catalog: v.object({
    state: v.picklist(["whole", "unreadable", "missing"]),
    generation: v.optional(count),
  }),
  head: v.nullable(uuidText),
  headReason: text,
  checkpoints: v.array(v.object({
    uuid: uuidText,
    identifier: v.optional(text),
    createdAtMs: timeMs,
    run: count,
    isHead: flag,
    isPinned: flag,
  })),
  writers: v.array(v.object({ writer: text, nextOffset: count })),
  lost: v.object({
    checkpoints: v.array(v.object({
      uuid: uuidText,
      identifier: v.optional(text),
      problems: v.array(FINDING),
    })),
    changes: v.array(OFFSETS),
    objects: v.array(FINDING),
  }),
  notes: v.array(text),
  published: v.optional(count),
  run: v.optional(count),
});

/** Schemas that are referred to, by their names in `/openapi.json`. */
export const DEFINITIONS = {
  Appended: APPENDED,
  Change: CHANGE,
  Checkpoint: CHECKPOINT,
  CheckpointDetails: CHECKPOINT_DETAILS,
  CheckpointGivenUp: GIVEN_UP,
  Checkpoints: CHECKPOINTS,
  Collection: COLLECTION,
  Explanation: EXPLANATION,
  Finding: FINDING,
  Job: JOB,
  JobDeletion: JOB_DELETION,
  JobImport: JOB_IMPORT,
  Jobs: JOBS,
  KeyGroups: KEY_GROUPS,
  Offsets: OFFSETS,
  Persisted: PERSISTED,
  Problem: PROBLEM,
  Restored: RESTORED,
  Resumed: RESUMED,
  Retention: RETENTION,
  Rolled: ROLLED,
  Salvage: SALVAGE,
  State: STATE,
  StatusProblem: STATUS_PROBLEM,
  Store: STORE,
  Usage: USAGE,
  Verified: VERIFIED,
  Writer: WRITER,
  Writers: WRITERS,
} as const;
