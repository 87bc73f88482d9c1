import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JobKeys } from "../../src/engine/paths.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import {
  append,
  appendDurably,
  bytesOf,
  CHANGE_FILE,
  changeFiles,
  changesOf,
  hasSettled,
  JOB,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
  throwsWith,
} from "./_engine.ts";

describe("Job.close", () => {
  test("makes everything durable, and seals the open file", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    append(job, "w", "a", "b");
    append(job, "v", "x");
    await job.close();
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["a", "b"]);
    assert.deepEqual(await restoreWriter(again, "v"), ["x"]);
    assert.equal(again.recovery.copiedBatches, 0, "a sealed file needs no copy");
  });

  test("waits for what is in flight, and for a checkpoint before it", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "a");
    const made = job.checkpoint();
    await held.reached;
    const closed = job.close();
    assert.equal(await hasSettled(closed), false);
    held.release();
    await closed;
    assert.equal((await made).isHead, true);
  });

  test("is idempotent, and leaves nothing open", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    const closed = job.close();
    assert.equal(job.close(), closed);
    await closed;
    await job[Symbol.asyncDispose]();
    assert.deepEqual(backend.keysOf("closeAppender"), backend.keysOf("createAppender"));
    assert.deepEqual(backend.keysOf("closePin"), backend.keysOf("pin"));
  });

  test("refuses everything afterwards, each as closed", async () => {
    const { job } = await openJobOn();
    const writer = job.writer("w");
    await job.close();
    throwsWith(() => writer.append(0, bytesOf("a")), "closed");
    throwsWith(() => writer.appendEncoded(changesOf("a")), "closed");
    throwsWith(() => writer.nextSequenceNumber(), "closed");
    throwsWith(() => job.writer("w"), "closed");
    await rejectsWith(writer.appendAt(0, changesOf("a")), "closed");
    await rejectsWith(writer.persist(), "closed");
    await rejectsWith(job.checkpoint(), "closed");
    await rejectsWith(job.resume(), "closed");
  });

  test("settles who waits for room", async () => {
    const { job, backend } = await openJobOn(newMemory(), {
      preemptivePersistBytes: 10,
      persistSizeThresholdBytes: 10,
      inFlightBytesMax: 10,
    });
    backend.fail({ kind: "sync", key: CHANGE_FILE, times: 99 });
    append(job, "w", "0123456789");
    const room = job.availability.whenAvailable();
    assert.equal(await hasSettled(room), false);
    await assert.rejects(job.close());
    await room;
    throwsWith(() => append(job, "w", "x"), "closed");
  });

  test("says what it could not make durable, settles all who wait, and lets go", async () => {
    const objects = newMemory();
    const { job, backend, store } = await openJobOn(objects);
    append(job, "w", "a");
    await job.checkpoint();
    backend.fail({ kind: "sync", key: CHANGE_FILE, times: 99 });
    append(job, "w", "b");
    const persisted = job.writer("w").persist();
    const closed = job.close();
    await Promise.all([assert.rejects(persisted), assert.rejects(closed)]);
    assert.deepEqual(backend.keysOf("closePin"), backend.keysOf("pin"));
    backend.mend();
    const again = await store.job(JOB);
    assert.notEqual(again, job);
    assert.deepEqual((await restoreWriter(again, "w"))[0], "a");
  });

  test("lets go of everything although letting go of something fails", async () => {
    const { job, backend, store } = await openJobOn();
    append(job, "w", "a");
    backend.fail({ kind: "closeAppender" });
    backend.fail({ kind: "closePin" });
    await assert.rejects(job.close());
    assert.deepEqual(backend.keysOf("closePin"), backend.keysOf("pin"));
    const again = await store.job(JOB);
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
  });

  test("tells of what was appended and is not durable when the run had ended before", async () => {
    const disk = new ForgettingDisk();
    const { job, store } = await openJobOn(posixOn(disk));
    await appendDurably(job, "w", "a");
    append(job, "w", "b");
    // Whether there is another owner can't be told: the run ends.
    disk.addFault({ matches: ({ path }) => path.endsWith("2.json"), error: "EIO" });
    await rejectsWith(job.collect(), "storage-unavailable");
    await rejectsWith(store.close(), "storage-unavailable");
    const { job: again } = await openJobOn(posixOn(disk), {}, { takeOver: true });
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
  });

  test("of a job that was fenced succeeds, and writes nothing", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    append(job, "w", "a");
    await openJobOn(objects);
    await rejectsWith(job.writer("w").persist(), "fenced");
    const writes = backend.keysOf("write").length;
    await job.close();
    assert.equal(backend.keysOf("write").length, writes);
    assert.deepEqual(backend.keysOf("closePin"), backend.keysOf("pin"));
  });

  test("gives the lock back, so that the job can be opened at once", async () => {
    const disk = new ForgettingDisk();
    const { store } = await openJobOn(posixOn(disk));
    const other = await openJobOn(posixOn(disk), {}, { takeOver: true });
    await other.store.close();
    await store.close();
    const third = await openJobOn(posixOn(disk));
    assert.equal(third.job.epoch, 3);
    assert.deepEqual(third.job.recovery.warnings, []);
    await third.store.close();
  });
});

describe("a job that was not closed", () => {
  test("loses what was only buffered, and nothing that was durable", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    append(job, "w", "a");
    await job.writer("w").persist();
    append(job, "w", "b");
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
    assert.equal(again.recovery.copiedBatches, 1);
    assert.deepEqual(
      (await changeFiles(objects)).map((key) => new JobKeys(JOB).parseChangeFile(key)?.epoch),
      [1, 2],
    );
  });
});
