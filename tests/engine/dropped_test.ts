/** What a recovery, a resume or a fallback takes over, and what it drops: told to the offset, and kept aside. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JobKeys } from "../../src/engine/paths.ts";
import type { Job } from "../../src/engine/types.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  flip,
  JOB,
  MANIFEST,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
  rewrite,
  turn,
} from "./_engine.ts";

/** Collects with nothing at rest; which change files are left. */
async function filesAfterCollection(objects: ReturnType<typeof newMemory>, job: Job) {
  await job.collect({ quarantineMs: 0 });
  return await changeFiles(objects);
}

describe("a resume at a checkpoint of another line", () => {
  test("works although the manifest is bad of the one that both have in common", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await job.setRetention({ minCount: 9 });
    const uuids: string[] = [];
    for (const text of ["a", "b", "c"]) {
      await appendDurably(job, "w", text);
      uuids.push((await job.checkpoint()).uuid);
    }
    const [, common, side] = uuids;
    await job.resume({ at: common });
    await appendDurably(job, "w", "C", "D");
    await job.checkpoint();
    await rewrite(objects, new JobKeys(JOB).manifest(common), flip(300));
    const { dropped, run } = await job.resume({ at: side });
    assert.deepEqual([run, dropped], [3, [{ writer: "w", from: 1, to: 4 }]]);
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b", "c"]);
  });
});

describe("RecoveryReport", () => {
  test("tells what was taken over beyond head, writer by writer", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    await appendDurably(one.job, "b", "0", "1");
    await one.job.checkpoint();
    await appendDurably(one.job, "b", "2");
    await appendDurably(one.job, "a", "0");
    append(one.job, "a", "never durable");
    const { job } = await openJobOn(objects);
    assert.deepEqual(job.recovery.adopted, [
      { writer: "a", from: 0, to: 1 },
      { writer: "b", from: 2, to: 3 },
    ]);
    assert.deepEqual(job.recovery.dropped, []);
  });

  test("tells what lies behind a gap, which nobody was told of as durable, and keeps it aside", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    append(one.job, "w", "fails");
    const sync = one.backend.hold({ kind: "sync", key: CHANGE_FILE });
    const first = rejectsWith(one.job.writer("w").persist(), "storage-unavailable");
    await sync.reached;
    append(one.job, "w", "lands", "too");
    const second = rejectsWith(one.job.writer("w").persist(), "storage-unavailable");
    one.backend.fail({ kind: "sync", key: CHANGE_FILE });
    sync.release();
    await Promise.all([first, second]);
    await turn();
    const before = await changeFiles(objects);
    const { job, ports } = await openJobOn(objects);
    assert.deepEqual(job.recovery.adopted, []);
    assert.deepEqual(job.recovery.dropped, [{ writer: "w", from: 0, to: 3 }]);
    assert.match(ports.logger.messages("warning").join(), /Dropped changes/);
    assert.deepEqual(await filesAfterCollection(objects, job), before);
    await job.checkpoint();
    assert.deepEqual(await filesAfterCollection(objects, job), []);
  });

  test("tells what a fallback gave up, as far as anything tells of it", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    await appendDurably(one.job, "w", "0", "1");
    const { uuid } = await one.job.checkpoint();
    await appendDurably(one.job, "w", "2");
    await appendDurably(one.job, "v", "0", "1");
    await one.job.checkpoint();
    await appendDurably(one.job, "w", "3");
    const files = await changeFiles(objects);
    const manifests: string[] = [];
    for await (const { key } of objects.list("jobs/orders/")) {
      if (MANIFEST.test(key) && !key.includes(uuid)) manifests.push(key);
    }
    await rewrite(objects, manifests[0], flip(300));
    const { job } = await openJobOn(objects, {}, { fallback: true });
    assert.equal((await job.checkpoints()).find(({ isHead }) => isHead)?.uuid, uuid);
    assert.deepEqual(job.recovery.dropped, [
      { writer: "v", from: 0, to: 2 },
      { writer: "w", from: 2, to: 4 },
    ]);
    await rejectsWith(job.collect({ quarantineMs: 0 }), "corrupt");
    assert.deepEqual(await changeFiles(objects), files);
  });
});

describe("ResumeResult.dropped", () => {
  test("is what lies behind the checkpoint, durable or not, and is kept until the next one", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { changeFileBytesMax: 1 });
    await appendDurably(job, "w", "0", "1");
    await job.checkpoint();
    await appendDurably(job, "w", "2");
    append(job, "w", "3");
    await appendDurably(job, "v", "0");
    const before = await changeFiles(objects);
    const { dropped } = await job.resume();
    assert.deepEqual(dropped, [{ writer: "v", from: 0, to: 1 }, { writer: "w", from: 2, to: 4 }]);
    assert.deepEqual(await filesAfterCollection(objects, job), before);
    const next = await openJobOn(objects);
    assert.deepEqual(await filesAfterCollection(objects, next.job), before);
    await next.job.checkpoint();
    assert.equal((await filesAfterCollection(objects, next.job)).length, 1);
  });

  test("is nothing for the tail, and everything where there is no checkpoint", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "w", "0", "1");
    assert.deepEqual((await job.resume({ at: "tail" })).dropped, []);
    assert.deepEqual((await job.resume()).dropped, [{ writer: "w", from: 0, to: 2 }]);
  });

  test("begins where the lines part, when it goes to a checkpoint of another line", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "w", "0");
    const root = (await job.checkpoint()).uuid;
    await appendDurably(job, "w", "1", "2");
    const branch = (await job.checkpoint()).uuid;
    await job.resume({ at: root });
    await appendDurably(job, "w", "other");
    await job.checkpoint();
    assert.deepEqual((await job.resume({ at: branch })).dropped, [{ writer: "w", from: 1, to: 2 }]);
    assert.deepEqual(await restoreWriter(job, "w"), ["0", "1", "2"]);
  });
});
