import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  changesOf,
  GENERATION,
  hasSettled,
  keysBelow,
  MANIFEST,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
  restoreWriter,
} from "./_engine.ts";

describe("Job.checkpoint", () => {
  test("makes everything appended durable, and gives it back", async () => {
    const { job } = await openJobOn();
    append(job, "w", "a", "b");
    append(job, "v", "x");
    const { uuid, isHead, parent, size } = await job.checkpoint({ identifier: "noon" });
    assert.deepEqual((await restore(job, { at: uuid })).changes, { w: ["a", "b"], v: ["x"] });
    assert.deepEqual((await restore(job)).changes, { w: ["a", "b"], v: ["x"] });
    assert.deepEqual([isHead, parent], [true, undefined]);
    assert.ok(size > 0);
    const details = await job.checkpointDetails(uuid);
    assert.equal(details.identifier, "noon");
    assert.deepEqual(
      details.writers.map((
        { writer, nextOffset, sequenceNumber },
      ) => [writer, nextOffset, sequenceNumber]),
      [["v", 1, 1], ["w", 2, 1]],
    );
  });

  test("holds what was appended before the call, and nothing of what comes after", async () => {
    const { job } = await openJobOn();
    append(job, "w", "before");
    const made = job.checkpoint();
    append(job, "w", "after");
    const { uuid } = await made;
    assert.deepEqual(await restoreWriter(job, "w", uuid), ["before"]);
  });

  test("holds what was appended before the call also when it waits for its turn", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    append(job, "w", "one");
    const first = job.checkpoint();
    await held.reached;
    append(job, "w", "two");
    const metadata = { at: 2 };
    const second = job.checkpoint({ metadata });
    metadata.at = 3;
    append(job, "w", "three");
    held.release();
    const [one, two] = await Promise.all([first, second]);
    assert.deepEqual(await restoreWriter(job, "w", one.uuid), ["one"]);
    assert.deepEqual(await restoreWriter(job, "w", two.uuid), ["one", "two"]);
    assert.equal(two.parent, one.uuid);
    assert.deepEqual((await job.checkpointDetails(two.uuid)).metadata, { at: 2 });
  });

  test("costs what changed: files are shared, nothing is uploaded twice", async () => {
    const { job, backend } = await openJobOn();
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    const writes = backend.keysOf("sync").length;
    const second = await job.checkpoint();
    assert.equal(backend.keysOf("sync").length, writes);
    const { files } = await job.checkpointDetails(second.uuid);
    assert.deepEqual(files.map(({ key }) => key), await changeFiles(backend));
  });

  test("publishes nothing when an upload fails, and keeps what failed for the next", async () => {
    const { job, backend } = await openJobOn();
    backend.fail({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "a");
    await rejectsWith(job.checkpoint(), "storage-unavailable");
    assert.deepEqual(await job.checkpoints(), []);
    assert.deepEqual(await keysBelow(backend, "jobs/orders/checkpoints/"), []);
    append(job, "w", "b");
    const { uuid } = await job.checkpoint();
    assert.deepEqual(await restoreWriter(job, "w", uuid), ["a", "b"]);
  });

  test("writes the manifest only when every change is durable", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    const made = job.checkpoint();
    await held.reached;
    assert.equal(await hasSettled(made), false);
    assert.deepEqual(backend.keysOf("putIfAbsent").filter((key) => MANIFEST.test(key)), []);
    held.release();
    await made;
  });

  test("is not listed when its publish did not take effect", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    const error = await rejectsWith(job.checkpoint(), "storage-unavailable");
    assert.equal(error.outcome, "not-applied");
    assert.deepEqual(await job.checkpoints(), []);
    await job.checkpoint();
    assert.equal((await job.checkpoints()).length, 1);
  });

  test("is there when its answer was lost and read back", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    append(job, "w", "a");
    backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after" });
    const { uuid } = await job.checkpoint();
    const { job: again } = await openJobOn(objects);
    assert.deepEqual((await again.checkpoints()).map((one) => one.uuid), [uuid]);
  });

  test("refuses what can't be one before it does anything", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    const calls = backend.log.length;
    await rejectsWith(job.checkpoint({ metadata: "x".repeat(70_000) }), "invalid-request");
    await assert.rejects(job.checkpoint({ steps: -1n }), RangeError);
    assert.equal(backend.log.length, calls);
    assert.equal((await job.writers())[0].sequenceNumber, 0);
  });

  test("stops waiting at a signal; the checkpoint may still be published", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    const controller = new AbortController();
    const made = job.checkpoint({ signal: controller.signal });
    await held.reached;
    controller.abort(new Error("enough"));
    await assert.rejects(made, { message: "enough" });
    held.release();
    const next = await job.checkpoint();
    const all = await job.checkpoints();
    assert.deepEqual(all.length, 2);
    assert.equal(next.parent, all[0].uuid);
    await assert.rejects(job.checkpoint({ signal: controller.signal }), { message: "enough" });
    assert.equal((await job.checkpoints()).length, 2);
  });

  test("goes on numbering where the roll-over left", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    append(job, "w", "a");
    await job.checkpoint();
    assert.equal(writer.nextSequenceNumber(), 1);
    assert.equal(writer.appendEncoded(changesOf("b")), 1);
    assert.equal(writer.nextSequenceNumber(), 2);
  });

  test("does not count writers that were never appended to as anything", async () => {
    const { job } = await openJobOn();
    job.writer("idle");
    const { uuid } = await job.checkpoint();
    assert.deepEqual((await restore(job, { at: uuid })).changes, {});
    assert.equal((await job.checkpointDetails(uuid)).writers.length, 1);
  });

  test("of nothing at all is one", async () => {
    const { job } = await openJobOn();
    const { uuid } = await job.checkpoint();
    const { trailer } = await restore(job, { at: uuid });
    assert.equal(trailer.count, 0);
    assert.equal((await job.checkpointDetails(uuid)).metadata, null);
  });
});
