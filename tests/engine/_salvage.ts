/** Jobs whose catalog is lost, and what salvages them. @module */
import assert from "node:assert/strict";
import { JobKeys } from "../../src/engine/paths.ts";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import type { JobReader, SalvageReport } from "../../src/engine/types.ts";
import { imageOf, JOB, keysBelow, openEngine, openJobOn, restore } from "./_engine.ts";

export const KEYS: JobKeys = new JobKeys(JOB);

/** Keys of the generations, oldest first. */
export async function generations(objects: StorageBackend): Promise<string[]> {
  return await keysBelow(objects, KEYS.catalogPrefix);
}

/** Deletes every generation. */
export async function loseCatalog(objects: StorageBackend): Promise<void> {
  for (const key of await generations(objects)) await objects.delete(key);
}

/** Spoils the newest generation. */
export async function spoilNewest(
  objects: StorageBackend,
  change: (bytes: Uint8Array) => Uint8Array = () => new Uint8Array(),
): Promise<void> {
  const newest = (await generations(objects)).at(-1)!;
  await objects.put(newest, change(await objects.get(newest)));
}

/** The plan, as a new process sees it. */
export async function planOn(objects: StorageBackend): Promise<SalvageReport> {
  const { store } = await openEngine(objects, { mode: "read" });
  const plan = await store.salvage(JOB);
  await store.close();
  return plan;
}

/** Looks at the plan, accepts it, and checks that nothing that was there is gone or changed. */
export async function salvageOn(objects: StorageBackend): Promise<SalvageReport> {
  const plan = await planOn(objects);
  const before = await imageOf(objects);
  const { store } = await openEngine(objects);
  const report = await store.salvage(JOB, { accept: plan.id });
  await store.close();
  const after = await imageOf(objects);
  for (const [key, bytes] of Object.entries(before)) {
    if (!key.startsWith(KEYS.readersPrefix)) assert.equal(after[key], bytes, `${key} changed`);
  }
  assert.equal(report.isDone, plan.isNeeded);
  assert.deepEqual(report.lost, plan.lost);
  return report;
}

/** Every checkpoint with what it holds. */
export async function contents(
  job: JobReader,
): Promise<Record<string, Readonly<Record<string, string[]>>>> {
  const all: Record<string, Readonly<Record<string, string[]>>> = {};
  for (const { uuid } of await job.checkpoints()) {
    all[uuid] = (await restore(job, { at: uuid })).changes;
  }
  return all;
}

/** Opens the job, checks that it is well, and gives it to `use`. */
export async function reopened<Result>(
  objects: StorageBackend,
  use: (job: Awaited<ReturnType<typeof openJobOn>>["job"]) => Promise<Result>,
): Promise<Result> {
  const { job, store } = await openJobOn(objects);
  const { problems } = await job.verify();
  assert.deepEqual(problems, []);
  const result = await use(job);
  await store.close();
  return result;
}
