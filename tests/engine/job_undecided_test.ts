import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import {
  append,
  appendDurably,
  GENERATION,
  hasSettled,
  JOB,
  type JobEngine,
  MANIFEST,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
} from "./_engine.ts";

/** Checkpoints `z` and, with an answer that is lost and can't be read back, `a`, which is published all the same. */
async function withUndecided(objects = newMemory()): Promise<JobEngine> {
  const engine = await openJobOn(objects);
  const { job, backend } = engine;
  append(job, "w", "1");
  await job.checkpoint({ identifier: "z" });
  append(job, "w", "2");
  backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after" });
  backend.fail({ kind: "get", key: GENERATION, times: 3 });
  const error = await rejectsWith(job.checkpoint({ identifier: "a" }), "storage-unavailable");
  assert.equal(error.outcome, "unknown");
  backend.mend();
  return engine;
}

async function namesOf({ job }: Pick<JobEngine, "job">): Promise<Record<string, string>> {
  const all = await job.checkpoints();
  const nameOf = (uuid: string | undefined) =>
    all.find((one) => one.uuid === uuid)?.identifier ?? "none";
  return Object.fromEntries(all.map((one) => [one.identifier!, nameOf(one.parent)]));
}

describe("After a publish of which nobody knows whether it took effect", () => {
  test("the next checkpoint goes on from what was published", async () => {
    const engine = await withUndecided();
    append(engine.job, "w", "3");
    await engine.job.checkpoint({ identifier: "b" });
    assert.deepEqual(await namesOf(engine), { z: "none", a: "z", b: "a" });
    const abandoned = (await engine.job.checkpoints()).filter(({ isAbandoned }) => isAbandoned);
    assert.deepEqual(abandoned, []);
  });

  test("a resume at latest finds it", async () => {
    const { job } = await withUndecided();
    const { checkpoint, writers } = await job.resume();
    assert.equal(checkpoint?.identifier, "a");
    assert.equal(writers[0].nextOffset, 2);
  });

  test("a resume finds one that was still being made when it was asked for", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "1");
    await job.checkpoint({ identifier: "z" });
    append(job, "w", "2");
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    const making = job.checkpoint({ identifier: "a" });
    await held.reached;
    const resuming = job.resume();
    // Until the resume has its turn.
    assert.equal(await hasSettled(resuming), false);
    backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after" });
    backend.fail({ kind: "get", key: GENERATION, times: 3 });
    backend.fail({ kind: "putIfAbsent", key: GENERATION, times: 2 });
    held.release();
    const error = await rejectsWith(making, "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    assert.equal((await resuming).checkpoint?.identifier, "a");
  });

  test("a resume with fallback finds it too", async () => {
    const { job } = await withUndecided();
    assert.equal((await job.resume({ fallback: true })).checkpoint?.identifier, "a");
  });

  test("a pin knows it", async () => {
    const objects = newMemory();
    const { job } = await withUndecided(objects);
    const reader = await (await openEngine(objects)).store.reader(JOB);
    const uuid = (await reader.checkpoints()).find(({ identifier }) => identifier === "a")!.uuid;
    await job.pin(uuid, "found it");
    const pinned = (await job.checkpoints()).filter(({ pin }) => pin !== undefined);
    assert.deepEqual(pinned.map(({ identifier }) => identifier), ["a"]);
  });

  test("nothing else takes effect, and says so, until it is known", async () => {
    const { job, backend } = await withUndecided();
    backend.fail({ kind: "get", key: GENERATION, times: 12 });
    backend.fail({ kind: "putIfAbsent", key: GENERATION, times: 12 });
    for (const action of [() => job.checkpoint(), () => job.setRetention({ minCount: 7 })]) {
      const error = await rejectsWith(action(), "storage-unavailable");
      assert.equal(error.outcome, "not-applied");
    }
    backend.mend();
    await job.setRetention({ minCount: 7 });
    append(job, "w", "3");
    assert.deepEqual((await restore(job)).changes, { w: ["1", "2"] });
  });

  test("its files go when nothing needs them any more", async () => {
    const objects = newMemory();
    const { job, ports } = await withUndecided(objects);
    await ports.clock.advance(DEFAULT_SETTINGS.changeFileAgeMsMax);
    await appendDurably(job, "w", "the last of its file");
    const writer = job.writer("w");
    writer.truncate(writer.nextSequenceNumber());
    await appendDurably(job, "w", "4");
    await job.checkpoint();
    await job.setRetention({ minCount: 1 });
    const { objects: seen } = await job.collect({ quarantineMs: 0 });
    const files = seen.filter(({ key }) => key.includes("/changelog/"));
    assert.deepEqual(files.map(({ action }) => action), ["delete", "keep"]);
    assert.deepEqual((await job.verify()).problems, []);
  });
});
