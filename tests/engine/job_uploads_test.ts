import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoreSettings } from "../../src/engine/settings.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  changesOf,
  hasSettled,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
  turn,
} from "./_engine.ts";

/** What a user gets who sets nothing. */
const BY_DEFAULT: Partial<StoreSettings> = {
  persistDelayMs: undefined,
  uploadRetryPolicy: undefined,
};

describe("a job uploads", () => {
  test("once for all writers that persist within the delay", async () => {
    const { job, backend, ports } = await openJobOn(newMemory(), BY_DEFAULT);
    const writers = Array.from({ length: 1000 }, (_, i) => `writer-${i}`);
    const persists = [];
    for (const [i, writer] of writers.entries()) {
      append(job, writer, "x".repeat(200));
      persists.push(job.writer(writer).persist());
      if (i % 111 === 110) await ports.clock.advance(1);
    }
    assert.equal(backend.keysOf("sync").length, 0);
    assert.equal(await hasSettled(persists[0]), false);
    await ports.clock.advance(1);
    await Promise.all(persists);
    assert.equal(backend.keysOf("sync").length, 1);
    await job.close();
  });

  test("without delay for a checkpoint, a resume at the tail, and a close", async () => {
    const { job, backend } = await openJobOn(newMemory(), BY_DEFAULT);
    append(job, "w", "a");
    await job.checkpoint();
    append(job, "w", "b");
    const persist = job.writer("w").persist();
    await job.resume({ at: "tail" });
    await persist;
    append(job, "w", "c");
    await job.close();
    assert.equal(backend.keysOf("sync").filter((key) => CHANGE_FILE.test(key)).length, 3);
  });

  test("without delay when memory is short", async () => {
    const { job } = await openJobOn(newMemory(), {
      ...BY_DEFAULT,
      inFlightBytesMax: 100,
      preemptivePersistBytes: 100,
      persistSizeThresholdBytes: 100,
    });
    append(job, "w", "x".repeat(30));
    void job.writer("w").persist();
    append(job, "v", "x".repeat(90));
    assert.equal(job.availability.isAvailable(), false);
    await job.availability.whenAvailable();
    await job.close();
  });
});

describe("a job tries again", () => {
  test("what failed, in a new file, and whoever waits hears of the success alone", async () => {
    const objects = newMemory();
    const { job, backend, ports } = await openJobOn(objects, {
      ...BY_DEFAULT,
      persistDelayMs: 0,
    });
    await appendDurably(job, "w", "a");
    backend.fail({ kind: "sync", key: CHANGE_FILE, times: 2 });
    const appended = job.writer("w").appendAt(1, changesOf("b"));
    await turn();
    await ports.clock.advance(499);
    assert.equal(await hasSettled(appended), false);
    await ports.clock.advance(1);
    assert.equal(await hasSettled(appended), false);
    await ports.clock.advance(500);
    assert.equal((await appended).nextOffset, 2);
    assert.equal((await changeFiles(backend)).length, 3);
    await job.close();
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["a", "b"]);
  });

  test("what hangs, in a new file, and ignores its late success", async () => {
    const objects = newMemory();
    const { job, backend, ports } = await openJobOn(objects, BY_DEFAULT);
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "a");
    const persist = job.writer("w").persist();
    await ports.clock.advance(10);
    await held.reached;
    await ports.clock.advance(29_999);
    assert.equal(await hasSettled(persist), false);
    await ports.clock.advance(1);
    await persist;
    held.release();
    await turn();
    await appendDurablyIn(10, "b");
    await job.close();
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["a", "b"]);

    async function appendDurablyIn(ms: number, text: string): Promise<void> {
      append(job, "w", text);
      const durable = job.writer("w").persist();
      await ports.clock.advance(ms);
      await durable;
    }
  });

  test("not for ever: the persist fails, the changes stay, and go with the next", async () => {
    const { job, backend, ports } = await openJobOn(newMemory(), {
      ...BY_DEFAULT,
      persistDelayMs: 0,
    });
    backend.fail({ kind: "write", key: CHANGE_FILE, times: 3 });
    append(job, "w", "a");
    const failed = rejectsWith(job.writer("w").persist(), "storage-unavailable");
    await turn();
    for (let attempt = 1; attempt < 3; attempt++) await ports.clock.advance(500);
    await failed;
    append(job, "w", "b");
    await job.writer("w").persist();
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"]);
  });

  test("nothing that another owner forbids", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { ...BY_DEFAULT, persistDelayMs: 0 });
    await appendDurably(job, "w", "a");
    await openJobOn(objects, {}, { takeOver: true });
    append(job, "w", "b");
    await rejectsWith(job.writer("w").persist(), "fenced");
  });

  test("by itself as long as memory is short, so that whoever waits for room gets it", async () => {
    const { job, backend, ports } = await openJobOn(newMemory(), {
      inFlightBytesMax: 100,
      preemptivePersistBytes: 100,
      persistSizeThresholdBytes: 100,
    });
    backend.fail({ kind: "sync", key: CHANGE_FILE, times: 3 });
    append(job, "w", "x".repeat(120));
    const room = job.availability.whenAvailable();
    for (let failure = 1; failure <= 3; failure++) {
      assert.equal(await hasSettled(room), false);
      await ports.clock.advance(1000);
    }
    await room;
    assert.equal(job.writer("w").durableOffset, 1);
    await ports.clock.advance(1000);
    assert.equal(ports.clock.pendingCount, 0);
  });
});

describe("a job that ends", () => {
  test("lets whoever waits for room go on, and hear of it", async () => {
    const settings = {
      inFlightBytesMax: 100,
      preemptivePersistBytes: 100,
      persistSizeThresholdBytes: 100,
    };
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects, settings);
    backend.fail({ kind: "sync", key: CHANGE_FILE, times: 9 });
    append(job, "w", "x".repeat(120));
    const room = job.availability.whenAvailable();
    await turn();
    await assert.rejects(job.close());
    await room;
    assert.ok(job.availability.isAvailable());
  });
});
