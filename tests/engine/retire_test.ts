import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../src/engine/types.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  GENERATION,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  restoreWriter,
  throwsWith,
  turn,
} from "./_engine.ts";

async function writersAt(job: Job, at = "latest"): Promise<string[]> {
  return (await job.checkpointDetails(at)).writers.map(({ writer }) => writer);
}

async function end(job: Job, id = "old"): Promise<void> {
  job.retireWriter(id);
  await job.checkpoint();
  await job.checkpoint();
}

describe("Job.retireWriter", () => {
  test("keeps what it holds for the next checkpoint, which says where it ends, and for no later one", async () => {
    const { job } = await openJobOn();
    append(job, "old", "a", "b");
    append(job, "other", "x");
    job.retireWriter("old");
    throwsWith(() => job.writer("old").append(0, new Uint8Array()), "closed");
    const last = (await job.checkpoint()).uuid;
    const [stands] = (await job.checkpointDetails(last)).writers;
    assert.deepEqual([stands.writer, stands.nextOffset, stands.isClosed], ["old", 2, true]);
    await job.checkpoint();
    assert.deepEqual(await writersAt(job), ["other"]);
    assert.deepEqual((await restore(job)).changes, { other: ["x"] });
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { other: ["x"] });
    assert.deepEqual((await restore(job, { at: last })).changes, { old: ["a", "b"], other: ["x"] });
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("is a wish until a checkpoint is published: a resume and a crash forget it", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await appendDurably(job, "old", "a");
    job.retireWriter("old");
    await job.resume({ at: "tail" });
    assert.equal((await job.writers())[0].isClosed, undefined);
    await appendDurably(job, "old", "b");
    job.retireWriter("old");
    const next = await openJobOn(objects);
    await appendDurably(next.job, "old", "c");
    assert.deepEqual(await restoreWriter(next.job, "old"), ["a", "b", "c"]);
  });

  test("does nothing for a writer that has ended, and refuses one that is not there", async () => {
    const { job } = await openJobOn();
    append(job, "old", "a");
    job.retireWriter("old");
    job.retireWriter("old");
    assert.equal((await job.writers())[0].isClosed, true);
    assert.match(throwsWith(() => job.retireWriter("none"), "writer-not-found").message, /none/);
  });

  test("frees the name with the next owner or run, and not before", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await appendDurably(job, "old", "a", "b", "c");
    await end(job);
    assert.match(throwsWith(() => job.writer("old"), "closed").message, /free again/);
    throwsWith(() => job.retireWriter("old"), "closed");
    await job.resume({ at: "tail" });
    assert.equal(job.writer("old").nextOffset, 0);
    await appendDurably(job, "old", "new");
    const { uuid } = await job.checkpoint();
    const next = await openJobOn(objects);
    for (const at of ["tail", uuid]) {
      assert.deepEqual(await restoreWriter(next.job, "old", at), ["new"]);
    }
    assert.deepEqual((await next.job.verify()).problems, []);
  });

  test("frees at once the name of a writer that ended under an older owner, once it is left out", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects, { changeFileBytesMax: 1 });
    await appendDurably(one.job, "old", "a", "b");
    await appendDurably(one.job, "other", "x");
    one.job.retireWriter("old");
    await one.job.checkpoint();
    const { job } = await openJobOn(objects);
    throwsWith(() => job.writer("old").append(0, new Uint8Array()), "closed");
    await job.checkpoint();
    assert.deepEqual(await writersAt(job), ["other"]);
    assert.equal((await job.checkpointDetails("latest")).files.length, 1, "old's file is let go");
    await appendDurably(job, "old", "new");
    await job.checkpoint();
    assert.deepEqual(await restoreWriter(job, "old", "latest"), ["new"]);
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("lists the writer as long as the tail may hold something of it, which a recovery would take", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    await appendDurably(job, "old", "a");
    job.retireWriter("old");
    const publish = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const first = job.checkpoint();
    await publish.reached;
    // The file in which the writer ends is being written to, so that it can't be ended.
    const write = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "other", "x");
    const persisting = job.writer("other").persist();
    await write.reached;
    publish.release();
    await first;
    write.release();
    await persisting;
    await job.checkpoint();
    assert.deepEqual(await writersAt(job), ["old", "other"]);
    const next = await openJobOn(objects);
    throwsWith(() => next.job.writer("old").append(0, new Uint8Array()), "closed");
    await next.job.checkpoint();
    assert.deepEqual(await writersAt(next.job), ["other"]);
  });

  test("is undone by a resume at an older checkpoint, and holds at a later one", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "old", "a");
    await appendDurably(job, "other", "x");
    const before = (await job.checkpoint()).uuid;
    job.retireWriter("old");
    const last = (await job.checkpoint()).uuid;
    await job.checkpoint();
    await job.resume({ at: last });
    throwsWith(() => job.writer("old").append(0, new Uint8Array()), "closed");
    await job.resume({ at: before });
    await appendDurably(job, "old", "b");
    assert.deepEqual(await restoreWriter(job, "old"), ["a", "b"]);
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("lets its files go with the last checkpoint that needs them", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { changeFileBytesMax: 1 });
    await appendDurably(job, "old", "a".repeat(1000));
    await appendDurably(job, "other", "x");
    await job.setRetention({ minCount: 1 });
    await end(job);
    await job.collect({ quarantineMs: 0 });
    assert.equal((await changeFiles(objects)).length, 1);
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("lets files of older owners go as well", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects, { changeFileBytesMax: 1 });
    await appendDurably(one.job, "old", "a");
    await appendDurably(one.job, "other", "x");
    await one.job.checkpoint();
    await one.store.close();
    const { job } = await openJobOn(objects);
    await job.setRetention({ minCount: 1 });
    await end(job);
    await job.collect({ quarantineMs: 0 });
    assert.equal((await changeFiles(objects)).length, 1);
    // A new writer of that name has nothing to do with what the old one left.
    await appendDurably(job, "old", "new");
    await job.checkpoint();
    assert.deepEqual((await restore(job)).changes, { old: ["new"], other: ["x"] });
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("waits for a checkpoint that is published: one that fails ends nobody", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "old", "a");
    job.retireWriter("old");
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(job.checkpoint(), "storage-unavailable");
    await job.checkpoint();
    assert.deepEqual(await writersAt(job), ["old"]);
    await job.checkpoint();
    assert.deepEqual(await writersAt(job), []);
  });

  test("is seen by readers beside the owner", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await appendDurably(job, "old", "a");
    job.retireWriter("old");
    await job.checkpoint();
    const { store } = await openEngine(objects, { mode: "read" });
    const reader = await store.reader("orders");
    assert.equal((await reader.writers())[0].isClosed, true);
    await job.checkpoint();
    assert.deepEqual(await reader.writers(), []);
  });
});

describe("Writer.truncateAndClose", () => {
  test("leaves later checkpoints too, but not while something it dropped may still land", async () => {
    const objects = newMemory();
    const retries = { uploadRetryPolicy: "fixed", changeFileBytesMax: 1 } as const;
    const { job, backend, ports } = await openJobOn(objects, retries);
    const writer = job.writer("old");
    append(job, "old", "dropped");
    const created = backend.hold({ kind: "createAppender" });
    const persisting = rejectsWith(writer.persist(), "closed");
    await created.reached;
    writer.truncateAndClose(0);
    await persisting;
    await job.checkpoint();
    backend.fail({ kind: "createAppender" });
    created.release();
    await turn();
    await job.checkpoint();
    assert.deepEqual(await writersAt(job), ["old"]);
    // The upload is tried again, and what was dropped lands in a file of the tail.
    await ports.clock.advance(500);
    await turn();
    assert.equal((await changeFiles(objects)).length, 1);
    const next = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(next.job, "old"), []);
  });
});
