import { TidemarkError } from "../errors.ts";
import { U64_MAX, USER_METADATA_BYTES_MAX } from "../limits.ts";
import type { CheckpointOptions } from "../types.ts";
import { UUID } from "../uuid.ts";
import { takeStates } from "./_state_sources.ts";
import { type Idempotency, idempotencyOf } from "./idempotency.ts";

const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** What a caller says of a checkpoint. */
export type CheckpointNotes =
  & Omit<CheckpointOptions, "states" | "signal" | "onProgress" | "idempotencyKey" | "run">
  & { readonly idempotency?: Idempotency };

/** Checks a u64 that comes from outside. @throws {TypeError} | {RangeError} */
export function checkU64(what: string, value: bigint): void {
  if (typeof value !== "bigint") {
    throw new TypeError(`Cannot use ${String(value)} as ${what}: wants a bigint`);
  }
  if (value >= 0n && value <= U64_MAX) return;
  throw new RangeError(`Cannot use ${value} as ${what}: wants 0 to 2^64 - 1`);
}

/**
 * Checks what a caller says of a checkpoint, and keeps it as it is now, whatever the caller changes afterwards.
 *
 * @throws {TypeError} | {RangeError}
 * @throws {TidemarkError} `invalid-request`
 */
export function takeCheckpointOptions(
  given: CheckpointOptions,
): CheckpointNotes {
  const { uuid, identifier, steps, processedRecords, metadata = null, idempotencyKey } = given;
  if (uuid !== undefined) checkUuid(uuid);
  if (identifier !== undefined && typeof identifier !== "string") {
    throw new TypeError(`Cannot use ${String(identifier)} as identifier: wants a string`);
  }
  if (steps !== undefined) checkU64("steps", steps);
  if (processedRecords !== undefined) checkU64("processedRecords", processedRecords);
  const notes = { uuid, identifier, steps, processedRecords, metadata: takeMetadata(metadata) };
  if (idempotencyKey === undefined) return notes;
  const states = takeStates(given.states);
  return { ...notes, idempotency: idempotencyOf(idempotencyKey, { ...notes, states }) };
}

function checkUuid(uuid: unknown): void {
  if (typeof uuid === "string" && UUID.test(uuid) && uuid !== NIL_UUID) return;
  throw new RangeError(
    `Cannot make checkpoint ${String(uuid)}: wants a uuid in lower case, and not the nil one`,
  );
}

function takeMetadata(metadata: unknown): unknown {
  const json = toJson(metadata);
  const size = new TextEncoder().encode(json).length;
  if (size <= USER_METADATA_BYTES_MAX) return JSON.parse(json);
  throw new TidemarkError(
    "invalid-request",
    `Cannot make a checkpoint: its metadata takes ${size} bytes of ${USER_METADATA_BYTES_MAX}`,
    { details: { size, sizeMax: USER_METADATA_BYTES_MAX } },
  );
}

function toJson(metadata: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(metadata);
  } catch (cause) {
    throw new TypeError("Cannot make a checkpoint: its metadata is no JSON", { cause });
  }
  if (json !== undefined) return json;
  throw new TypeError(`Cannot make a checkpoint: its metadata is a ${typeof metadata}, no JSON`);
}
