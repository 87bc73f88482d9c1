import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MIB } from "../../src/engine/limits.ts";
import {
  CHANGE_FILE,
  changesOf,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
  throwsWith,
} from "./_engine.ts";

describe("a writer of a job", () => {
  test("refuses encoded changes above changeBytesMax", async () => {
    const { job } = await openJobOn(newMemory(), { changeBytesMax: 10 });
    const writer = job.writer("w");
    throwsWith(() => writer.append(0, new Uint8Array(11)), "change-too-large");
    throwsWith(() => writer.appendEncoded(changesOf("x".repeat(11))), "change-too-large");
  });

  test("refuses an offset that is none", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await writer.appendAt(0, changesOf("a"));
    for (const offset of [-1, 0.5, Number.NaN]) {
      await assert.rejects(writer.appendAt(offset, changesOf("a")), RangeError);
    }
  });

  test("is none after a first append that was refused, until one is taken", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects, { changeBytesMax: 10 });
    await rejectsWith(job.writer("w").appendAt(1, changesOf("a")), "offset-mismatch");
    const tooLarge = changesOf("x".repeat(11));
    await rejectsWith(job.writer("w").appendAt(0, tooLarge), "change-too-large");
    await rejectsWith(job.writer("w").appendAt(0, changesOf("a"), { run: 7 }), "fenced");
    assert.deepEqual(await job.writers(), []);
    const { uuid } = await job.checkpoint();
    assert.deepEqual((await job.checkpointDetails(uuid)).writers, []);
    assert.deepEqual((await job.resume({ at: "tail" })).writers, []);
    await rejectsWith(
      job.writer("w").appendAt(1, changesOf("a"), { run: job.run }),
      "offset-mismatch",
    );
    await job.writer("w").appendAt(0, changesOf("a"), { run: job.run });
    assert.deepEqual((await job.writers()).map(({ nextOffset }) => nextOffset), [1]);
    await rejectsWith(
      job.writer("w").appendAt(5, changesOf("a"), { run: job.run }),
      "offset-mismatch",
    );
    assert.deepEqual((await job.writers()).map(({ nextOffset }) => nextOffset), [1]);
    await store.close();
    const again = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again.job, "w"), ["a"]);
  });

  test("is one as soon as somebody names it, or an append waits for the disk", async () => {
    const { job, backend } = await openJobOn();
    job.writer("named");
    assert.deepEqual((await job.writers()).map(({ writer }) => writer), ["named"]);
    backend.fail({ kind: "sync", key: CHANGE_FILE });
    await rejectsWith(job.writer("failed").appendAt(0, changesOf("a")), "storage-unavailable");
    assert.deepEqual((await job.writers()).map(({ writer }) => writer), ["failed", "named"]);
  });
});

describe("uploads of a job", () => {
  test("do not write again what was durable before a later one failed", async () => {
    const { job, backend } = await openJobOn(newMemory(), {
      inFlightBytesMax: 256 * MIB,
      preemptivePersistBytes: 255 * MIB,
      persistSizeThresholdBytes: 40 * MIB,
      compression: "none",
      uploadRetryPolicy: "none",
    });
    for (const id of ["a", "b"]) job.writer(id).append(0, new Uint8Array(40 * MIB));
    backend.fail({ kind: "sync", key: CHANGE_FILE, skip: 1 });
    const persisted = ["a", "b"].map((id) => job.writer(id).persist());
    const results = await Promise.allSettled(persisted);
    assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected"]);
  });
});
