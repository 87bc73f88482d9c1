/** Checkpoints as tests make and look at them. @module */
import assert from "node:assert/strict";
import type { Job, JobReader } from "../../../src/engine/types.ts";
import { appendDurably, restoreWriter } from "../_engine.ts";

/** Lets what goes go at once. */
export const AT_ONCE = { quarantineMs: 0 };

/** Appends a text and makes a checkpoint; answers its uuid. */
export async function commit(job: Job, text: string, writer = "w"): Promise<string> {
  await appendDurably(job, writer, text);
  return (await job.checkpoint()).uuid;
}

/** Uuids of the published checkpoints, oldest first. */
export async function uuidsOf(job: JobReader): Promise<string[]> {
  return (await job.checkpoints()).map(({ uuid }) => uuid);
}

/** Checks that every listed checkpoint gives back just what it is known to hold. */
export async function checkContents(
  job: JobReader,
  contents: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  for (const uuid of await uuidsOf(job)) {
    assert.deepEqual(await restoreWriter(job, "w", uuid), contents.get(uuid), uuid);
  }
}
