import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../src/engine/types.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  changesOf,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
  throwsWith,
} from "./_engine.ts";

async function restoredOffsets(job: Job, at: string): Promise<number[]> {
  const offsets: number[] = [];
  for await (const { offset } of job.restore({ at })) offsets.push(offset);
  return offsets;
}

describe("Writer.truncate", () => {
  test("takes effect with the next checkpoint, and leaves older ones whole", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await appendDurably(job, "w", "a", "b");
    const older = (await job.checkpoint()).uuid;
    writer.truncate(writer.nextSequenceNumber());
    await appendDurably(job, "w", "c");
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["a", "b", "c"] });
    const newer = (await job.checkpoint()).uuid;
    assert.deepEqual((await restore(job, { at: newer })).changes, { w: ["c"] });
    assert.deepEqual(await restoredOffsets(job, newer), [2]);
    assert.deepEqual(await restoredOffsets(job, "tail"), [2]);
    assert.deepEqual((await restore(job, { at: older })).changes, { w: ["a", "b"] });
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("goes on from there after a reopen and a resume", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    await appendDurably(one.job, "w", "a", "b");
    one.job.writer("w").truncate(one.job.writer("w").nextSequenceNumber());
    await appendDurably(one.job, "w", "c");
    await one.job.checkpoint();
    await appendDurably(one.job, "w", "d");
    await one.store.close();
    const { job } = await openJobOn(objects);
    assert.deepEqual(await restoredOffsets(job, "tail"), [2, 3]);
    assert.equal(job.writer("w").nextOffset, 4);
    await job.resume({ at: "tail" });
    assert.deepEqual(await restoredOffsets(job, "tail"), [2, 3]);
    await job.checkpoint();
    assert.deepEqual(await restoredOffsets(job, "latest"), [2, 3]);
    await job.resume({ at: "latest" });
    await appendDurably(job, "w", "e");
    assert.deepEqual(await restoredOffsets(job, "tail"), [2, 3, 4]);
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("gives up files of older owners and runs as well", async () => {
    const objects = newMemory();
    for (let life = 0; life < 4; life++) {
      const { job, store } = await openJobOn(objects);
      const writer = job.writer("w");
      writer.truncate(writer.nextSequenceNumber());
      await appendDurably(job, "w", "more");
      await job.checkpoint();
      assert.equal((await job.checkpointDetails("latest")).files.length, 1, `life ${life}`);
      await job.resume({ at: "latest" });
      const again = job.writer("w");
      again.truncate(again.nextSequenceNumber());
      await appendDurably(job, "w", "and more");
      await job.checkpoint();
      assert.equal((await job.checkpointDetails("latest")).files.length, 1, `resume ${life}`);
      await job.collect({ quarantineMs: 0 });
      assert.equal((await changeFiles(objects)).length, 2, "those of two checkpoints");
      await store.close();
    }
  });

  test("keeps a file that can't be read, as nobody knows what is in it", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    await appendDurably(one.job, "w", "a");
    await one.job.checkpoint();
    await one.store.close();
    const { job, backend, ports } = await openJobOn(objects);
    const writer = job.writer("w");
    writer.truncate(writer.nextSequenceNumber());
    append(job, "w", "b");
    backend.fail({ kind: "get", key: CHANGE_FILE, times: Infinity });
    await job.checkpoint();
    backend.mend();
    assert.equal((await job.checkpointDetails("latest")).files.length, 2);
    assert.match(ports.logger.messages("warning").join(), /Cannot tell what a change file holds/);
    await job.checkpoint();
    assert.equal((await job.checkpointDetails("latest")).files.length, 1);
  });

  test("refuses a restore, a persist and a comparison from below it", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await appendDurably(job, "w", "a", "b");
    writer.truncate(writer.nextSequenceNumber());
    await job.checkpoint();
    const error = await rejectsWith(restore(job, { at: "tail", from: 1 }), "truncated");
    assert.match(error.message, /begins at offset 2/);
    await rejectsWith(writer.persist(0), "truncated");
    const { verified } = await writer.appendAt(0, changesOf("a", "b"), { run: 1 });
    assert.equal(verified, false);
  });

  test("lets the files go that no checkpoint needs any more", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "w", "a".repeat(1000));
    await job.checkpoint();
    await job.resume({ at: "tail" });
    const writer = job.writer("w");
    writer.truncate(writer.nextSequenceNumber());
    await appendDurably(job, "w", "b");
    await job.checkpoint();
    await job.setRetention({ minCount: 1 });
    const { objects } = await job.collect({ quarantineMs: 0 });
    const files = objects.filter(({ key }) => key.includes("/changelog/"));
    assert.deepEqual(files.map(({ action }) => action), ["delete", "keep"]);
    assert.deepEqual((await restore(job)).changes, { w: ["b"] });
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("names numbers that somebody rolled over at, and no other", async () => {
    const { job } = await openJobOn();
    append(job, "w", "a");
    assert.throws(() => job.writer("w").truncate(1), /gave/);
    assert.throws(() => job.writer("w").truncate(-1.5), RangeError);
  });
});

describe("Writer.truncateAndClose", () => {
  test("ends the writer with the next checkpoint; nothing beyond its end comes back", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    const writer = one.job.writer("w");
    await appendDurably(one.job, "w", "kept");
    const end = writer.nextSequenceNumber();
    await appendDurably(one.job, "w", "dropped");
    writer.truncateAndClose(end);
    throwsWith(() => writer.append(0, new Uint8Array()), "closed");
    await rejectsWith(writer.persist(), "closed");
    await one.job.checkpoint();
    await one.store.close();
    const { job } = await openJobOn(objects);
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["kept"] });
    throwsWith(() => job.writer("w").append(0, new Uint8Array()), "closed");
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("fails whoever waits for what it drops, and gives the memory back", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await appendDurably(job, "w", "kept");
    const end = writer.nextSequenceNumber();
    append(job, "w", "dropped");
    const persisting = writer.persist();
    writer.truncateAndClose(end);
    await rejectsWith(persisting, "closed");
    await job.checkpoint();
    assert.deepEqual((await restore(job)).changes, { w: ["kept"] });
    assert.ok(job.availability.isAvailable());
  });

  test("is undone by a resume at an older checkpoint", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "w", "a");
    const older = (await job.checkpoint()).uuid;
    const writer = job.writer("w");
    writer.truncateAndClose(writer.nextSequenceNumber());
    await job.checkpoint();
    await job.resume({ at: older });
    await appendDurably(job, "w", "b");
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["a", "b"] });
  });
});
