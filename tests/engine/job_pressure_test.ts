import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoreSettings } from "../../src/engine/settings.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import {
  append,
  CHANGE_FILE,
  changesOf,
  hasSettled,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
  throwsWith,
  turn,
} from "./_engine.ts";

/** 100 bytes soft, 140 hard; a writer uploads by itself at 40. */
const SMALL: Partial<StoreSettings> = {
  inFlightBytesMax: 100,
  preemptivePersistBytes: 40,
  persistSizeThresholdBytes: 40,
};

/** A text whose change takes `bytes` bytes. */
function sized(bytes: number, letter = "x"): string {
  return letter.repeat(bytes - (bytes > 27 ? 4 : 3));
}

describe("a job's memory", () => {
  test("turns availability at the soft limit, and back when it is durable", async () => {
    const { job, backend } = await openJobOn(newMemory(), SMALL);
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", sized(50), sized(49));
    assert.ok(job.availability.isAvailable());
    append(job, "v", "");
    assert.equal(job.availability.isAvailable(), false);
    const room = job.availability.whenAvailable();
    assert.equal(await hasSettled(room), false);
    held.release();
    await room;
    assert.ok(job.availability.isAvailable());
  });

  test("refuses at the hard limit, with nothing of it taken, and counts all writers", async () => {
    const { job, backend } = await openJobOn(newMemory(), SMALL);
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", sized(50));
    append(job, "v", sized(90));
    const writer = job.writer("u");
    const error = throwsWith(() => append(job, "u", ""), "backpressure");
    assert.ok(error.retryable);
    await rejectsWith(writer.appendAt(0, changesOf("")), "backpressure");
    throwsWith(() => writer.appendEncoded(changesOf("")), "backpressure");
    assert.equal(writer.nextOffset, 0);
    held.release();
    await job.availability.whenAvailable();
    append(job, "u", "");
    await job.close();
  });

  test("takes one change that is larger than all of it, alone", async () => {
    const { job } = await openJobOn(newMemory(), SMALL);
    append(job, "w", "");
    throwsWith(() => append(job, "w", sized(500)), "backpressure");
    await job.writer("w").persist();
    append(job, "w", sized(500));
    throwsWith(() => append(job, "v", ""), "backpressure");
    await job.availability.whenAvailable();
    append(job, "v", "");
  });

  test("makes room by itself: whoever waits is never forgotten", async () => {
    const { job, backend } = await openJobOn(newMemory(), SMALL);
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "first", sized(20));
    const persisted = job.writer("first").persist();
    await held.reached;
    // Each of these is too small to be uploaded for its own sake, and an upload is running.
    for (const writer of ["a", "b", "c"]) append(job, writer, sized(38));
    const room = job.availability.whenAvailable();
    held.release();
    await persisted;
    await room;
  });

  test("keeps what failed, and tries it again when the limit is met", async () => {
    const { job, backend } = await openJobOn(newMemory(), SMALL);
    backend.fail({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", sized(45, "a"));
    const failed = job.writer("w").persist();
    await assert.rejects(failed);
    assert.equal(job.writer("w").durableOffset, 0);
    append(job, "w", sized(50, "b"));
    await job.writer("w").persist();
    assert.deepEqual(await restoreWriter(job, "w"), [sized(45, "a"), sized(50, "b")]);
  });

  test("is the same for the whole job after a resume", async () => {
    const { job, backend } = await openJobOn(newMemory(), SMALL);
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", sized(60), sized(60));
    const room = job.availability.whenAvailable();
    await job.resume();
    await room;
    assert.ok(job.availability.isAvailable());
    append(job, "w", sized(60));
    held.release();
    await job.close();
  });
});

describe("a full disk", () => {
  test("is told as such, keeps what was appended, and everything goes on with room", async () => {
    const disk = new ForgettingDisk();
    const { job } = await openJobOn(posixOn(disk), SMALL);
    append(job, "w", "before");
    await job.writer("w").persist();
    const used = disk.freeBytes;
    disk.freeBytes = 0;
    append(job, "w", sized(40, "a"));
    const error = await rejectsWith(job.writer("w").persist(), "storage-full");
    assert.ok(error.retryable);
    append(job, "w", sized(40, "b"));
    await rejectsWith(job.checkpoint(), "storage-full");
    await rejectsWith(job.writer("w").appendAt(3, changesOf("c")), "storage-full");
    assert.equal(job.writer("w").durableOffset, 1);
    disk.freeBytes = used;
    await job.writer("w").persist();
    const wanted = ["before", sized(40, "a"), sized(40, "b"), "c"];
    assert.deepEqual(await restoreWriter(job, "w"), wanted);
    const { uuid } = await job.checkpoint();
    assert.deepEqual(await restoreWriter(job, "w", uuid), wanted);
    assert.deepEqual((await job.verify()).problems, []);
    await job.close();
    const { job: again } = await openJobOn(posixOn(disk), SMALL, { takeOver: true });
    assert.deepEqual(await restoreWriter(again, "w"), wanted);
  });

  test("turns availability for as long as it lasts, and no append is lost or taken twice", async () => {
    const objects = newMemory({ bytesMax: 4500 });
    const { job } = await openJobOn(objects, SMALL);
    const taken: string[] = [];
    for (let i = 0; taken.length < 200 && i < 400; i++) {
      const text = `${i} ${"x".repeat(30)}`;
      try {
        append(job, "w", text);
        taken.push(text);
      } catch (error) {
        assert.equal((error as { code?: string }).code, "backpressure");
        assert.equal(job.availability.isAvailable(), false);
        break;
      }
      await turn();
    }
    assert.equal(job.writer("w").nextOffset, taken.length);
    const durable = job.writer("w").durableOffset;
    assert.ok(durable > 0 && durable < taken.length);
    assert.deepEqual(await restoreWriter(job, "w"), taken.slice(0, durable));
    await assert.rejects(job.close(), { code: "storage-full" });
  });
});
