/** What the golden store of format version 1 holds, and how it was made. @module */
import { resolveSettings } from "../../src/engine/settings.ts";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import { OpenStore } from "../../src/engine/store.ts";
import type { Job } from "../../src/engine/types.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import {
  append,
  AT_ONCE,
  CHANGE_FILE,
  JOB,
  newMemory,
  rejectsWith,
  Surroundings,
} from "./_engine.ts";

/** Changes of each writer, from an offset on. */
export type Content = Readonly<Record<string, { from: number; changes: readonly string[] }>>;

/** Where the store stands in the repository. */
export const GOLDEN_STORE = new URL("../golden/store_v1/", import.meta.url);

/** The pipeline's own file, that no version may touch. */
export const PRIVATE_KEY = `jobs/${JOB}/private/notes.txt`;

/** What each checkpoint holds, by its identifier, and the tail. */
export const CONTENT: Readonly<Record<"one" | "two" | "three" | "tail", Content>> = {
  one: { left: { from: 0, changes: ["a0", "a1"] }, right: { from: 0, changes: ["b0", "b1"] } },
  two: {
    left: { from: 0, changes: ["a0", "a1", "a2, left behind"] },
    right: { from: 0, changes: ["b0", "b1"] },
  },
  three: {
    left: { from: 0, changes: ["a0", "a1", "a2"] },
    right: { from: 3, changes: ["b3"] },
  },
  tail: {
    left: { from: 0, changes: ["a0", "a1", "a2", "a3"] },
    right: { from: 3, changes: ["b3"] },
  },
};

/** Makes the store's objects: two writers, three checkpoints, a resume, a truncated writer, a torn end. */
export async function makeGoldenStore(): Promise<MemoryBackend> {
  const objects = newMemory();
  const backend = new FaultyBackend(objects);
  const store = await OpenStore.open(backend, resolveSettings(AT_ONCE), new Surroundings(1));
  await live(await store.job(JOB, { fingerprint: 7n }), backend);
  await objects.put(PRIVATE_KEY, new TextEncoder().encode("the pipeline's own\n"));
  return objects;
}

async function live(job: Job, backend: FaultyBackend): Promise<void> {
  append(job, "left", "a0", "a1");
  append(job, "right", "b0", "b1");
  const { uuid } = await job.checkpoint({
    identifier: "one",
    steps: 1n,
    processedRecords: 4n,
    metadata: { line: 4 },
  });
  append(job, "left", "a2, left behind");
  const two = await job.checkpoint({ identifier: "two" });
  await job.resume({ at: uuid });
  append(job, "left", "a2");
  append(job, "right", "b2");
  const right = job.writer("right");
  right.truncate(right.nextSequenceNumber());
  append(job, "right", "b3");
  await job.checkpoint({ identifier: "three" });
  await job.pin(two.uuid, "kept for later versions");
  append(job, "left", "a3");
  await job.writer("left").persist();
  append(job, "left", "a4, never acknowledged");
  backend.fail({ kind: "write", key: CHANGE_FILE, when: "cut" });
  await rejectsWith(job.writer("left").persist(), "storage-unavailable");
}
