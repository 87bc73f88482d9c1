/**
 * What must hold after a life, whatever went wrong in it: the guarantees, that the job goes on, and that the next
 * collection leaves nothing behind.
 * @module
 */
import assert from "node:assert/strict";
import type { CrashMode } from "../doubles/forgetting_file_system.ts";
import type { Ground } from "./_ground.ts";
import { leaksIn } from "./leaks.ts";
import { openStoreOn } from "./_life.ts";
import type { Oracle } from "./_oracle.ts";
import { JOB, restoreAll, WRITERS } from "./_scenario.ts";
import { checkStates } from "./_states.ts";
import type { Job } from "../../src/engine/types.ts";

/** @throws {Error} A guarantee does not hold, or something leaks. */
export async function checkAfterLife(
  ground: Ground,
  oracle: Oracle,
  mode: CrashMode,
): Promise<void> {
  ground.crash(mode);
  const store = await openStoreOn(ground);
  const job = await store.job(JOB, { takeOver: true });
  const tail = await restoreAll(job, "tail");
  oracle.checkTail(tail, "after");
  oracle.recovered(tail);
  await checkCheckpoints(job, oracle);
  await goOn(job, oracle);
  const { removed, problems } = await job.collect({ quarantineMs: 0 });
  assert.deepEqual(problems, []);
  oracle.collected(removed);
  const { bytes } = await job.usage();
  const objects = await ground.objects();
  const leaks = leaksIn(objects);
  assert.deepEqual(leaks.filter((key) => !isOwnTemporary(key, job.epoch)), [], "no need of these");
  assert.equal(bytes, countBytes(objects), "usage is not what is there");
  await checkCheckpoints(job, oracle);
  await store.close();
  if (leaks.length > 0) await checkSwept(ground);
}

/** An owner that died before its key was there leaves a temporary name of an epoch that the next owner takes. */
function isOwnTemporary(key: string, epoch: number): boolean {
  return key.includes(`/.tmp-${String(epoch).padStart(20, "0")}-`);
}

async function checkSwept(ground: Ground): Promise<void> {
  const store = await openStoreOn(ground);
  await store.job(JOB);
  await store.close();
  assert.deepEqual(leaksIn(await ground.objects()), [], "no need of these after one more open");
}

async function checkCheckpoints(job: Job, oracle: Oracle): Promise<void> {
  const checkpoints = await job.checkpoints();
  for (const { uuid } of checkpoints) {
    const restored = await restoreAll(job, uuid);
    if (!oracle.checkpoints.has(uuid)) oracle.found(uuid, restored, "after");
    assert.deepEqual(restored, oracle.checkpoints.get(uuid), `checkpoint ${uuid}`);
    await checkStates(job, uuid, restored, `states of checkpoint ${uuid}`);
  }
  const missing = oracle.missing(checkpoints);
  assert.deepEqual(missing.filter((uuid) => !oracle.mayBeGone(uuid)), [], "checkpoints are gone");
  oracle.collected(missing);
}

async function goOn(job: Job, oracle: Oracle): Promise<void> {
  for (const id of WRITERS) {
    const change = oracle.newChange();
    oracle.appended(id, change);
    job.writer(id).append(0, new TextEncoder().encode(change));
  }
  const line = oracle.snapshot();
  const { uuid } = await job.checkpoint();
  oracle.checkpointed(uuid, line);
}

/** Temporary names are no objects. */
function countBytes(objects: ReadonlyMap<string, Uint8Array>): number {
  let bytes = 0;
  for (const [key, object] of objects) {
    if (!key.includes("/.tmp-") && key.startsWith(`jobs/${JOB}/`)) bytes += object.length;
  }
  return bytes;
}
