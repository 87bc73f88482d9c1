/** What a collection relies on, and when it lets go of what, step by step. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Lease } from "../../../src/engine/checkpoint/lease.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import type { Job } from "../../../src/engine/types.ts";
import { newUuid } from "../../../src/engine/uuid.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  GENERATION,
  imageOf,
  JOB,
  keysBelow,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
} from "../_engine.ts";
import { AT_ONCE, checkContents, commit, uuidsOf } from "./_checkpoints.ts";

const KEYS = new JobKeys(JOB);
const STRAY = "01b8dac5-b400-7705-b1c1-c62ebd22e0b2";

/** Gives up all that the writer has by now, with the next checkpoint. */
function truncate(job: Job): void {
  const writer = job.writer("w");
  writer.truncate(writer.nextSequenceNumber());
}

describe("a collection", () => {
  test("first brings a publish to an end of which nothing is decided: what it published stays", async () => {
    const { job, backend } = await openJobOn();
    const contents = new Map([[await commit(job, "a"), ["a"]], [await commit(job, "b"), [
      "a",
      "b",
    ]]]);
    append(job, "w", "c");
    backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after" });
    backend.fail({ kind: "get", key: GENERATION, times: 3 });
    backend.fail({
      kind: "putIfAbsent",
      key: GENERATION,
      times: 2,
      error: new TidemarkError("storage-unavailable", "x", { outcome: "unknown" }),
    });
    const error = await rejectsWith(job.checkpoint(), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    backend.mend();
    await job.collect(AT_ONCE);
    const listed = await uuidsOf(job);
    assert.equal(listed.length, 2);
    contents.set(listed[1], ["a", "b", "c"]);
    await checkContents(job, contents);
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("publishes once more before it deletes, though its list stays as it is", async () => {
    const { job, backend } = await openJobOn();
    await commit(job, "a");
    await job.collect(AT_ONCE);
    await backend.put(KEYS.manifest(STRAY), new Uint8Array(3));
    const before = backend.log.length;
    const { objects, deletedBytes } = await job.collect(AT_ONCE);
    assert.deepEqual(
      objects.filter(({ action }) => action === "delete").map(({ key, size }) => [key, size]),
      [[KEYS.manifest(STRAY), 3]],
    );
    assert.equal(deletedBytes, 3);
    const calls = backend.log.slice(before);
    const published = calls.findIndex(({ kind }) => kind === "putIfAbsent");
    const deleted = calls.findIndex(({ kind, key }) => kind === "delete" && !GENERATION.test(key));
    assert.ok(published >= 0 && published < deleted, `${published} ${deleted}`);
  });

  test("publishes nothing where nothing goes", async () => {
    const { job, backend } = await openJobOn();
    await commit(job, "a");
    await job.collect(AT_ONCE);
    const before = await imageOf(backend);
    await job.collect(AT_ONCE);
    assert.deepEqual(await imageOf(backend), before);
  });

  test("ends with the first delete that comes after another owner", async () => {
    const objects = newMemory();
    const { job, backend, ports } = await openJobOn(objects);
    await commit(job, "a");
    await job.collect(AT_ONCE);
    const strays = Array.from({ length: 30 }, () => KEYS.manifest(newUuid(ports)));
    for (const key of strays) await objects.put(key, new Uint8Array(1));
    const held = backend.hold({ kind: "delete", key: /checkpoints/, times: 30 });
    const collecting = job.collect(AT_ONCE);
    await held.reached;
    await openJobOn(objects, {}, { takeOver: true });
    const begun = backend.keysOf("delete").length;
    held.release();
    await rejectsWith(collecting, "fenced");
    const deletes = backend.keysOf("delete").length;
    assert.ok(begun < strays.length && deletes === begun, `${begun} and then ${deletes} deletes`);
  });

  test("keeps what was adopted as long as the catalog names it", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await commit(job, "a");
    await appendDurably(job, "w", "b");
    const young = await openJobOn(objects, {}, { takeOver: true });
    assert.equal(young.job.recovery.adoptedSets, 1);
    const adopted = await keysBelow(objects, KEYS.adoptedPrefix);
    assert.equal(adopted.length, 1);
    await young.job.collect(AT_ONCE);
    assert.deepEqual(await keysBelow(objects, KEYS.adoptedPrefix), adopted);
    const { job: next } = await openJobOn(objects, {}, { takeOver: true });
    assert.deepEqual(await restoreWriter(next, "w"), ["a", "b"]);
  });

  test("keeps files at or after the begin of the tail, which later headers name", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    truncate(job);
    await job.checkpoint();
    append(job, "w", "b");
    backend.fail({ kind: "sync", key: CHANGE_FILE });
    await rejectsWith(job.writer("w").persist(), "storage-unavailable");
    await job.writer("w").persist();
    const files = await changeFiles(backend);
    assert.equal(files.length, 2);
    const { objects: decided } = await job.collect(AT_ONCE);
    const first = decided.find(({ key }) => key === files[0]);
    assert.equal(first?.reason, "it lies at or after the begin of the tail");
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["b"]);
  });

  test("deletes no change files before this owner has published a checkpoint", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    await commit(job, "a");
    await appendDurably(job, "w", "left behind");
    const left = (await changeFiles(backend)).at(-1)!;
    await job.resume({ at: "latest" });
    const { objects } = await job.collect(AT_ONCE);
    const decided = objects.find(({ key }) => key === left);
    assert.equal(decided?.reason, "this owner has published no checkpoint yet");
    await commit(job, "b");
    await job.collect(AT_ONCE);
    assert.ok(!(await changeFiles(backend)).includes(left));
  });

  test("deletes nothing while somebody reads the tail", async () => {
    const { job, store, backend, ports } = await openJobOn();
    for (const text of ["a", "b", "c"]) await commit(job, text);
    const place = { backend, keys: KEYS, store: store.id };
    const lease = await Lease.take(place, ports, { checkpoint: null, isTail: true });
    const before = await keysBelow(backend, KEYS.checkpointsPrefix);
    await job.collect(AT_ONCE);
    assert.deepEqual(await keysBelow(backend, KEYS.checkpointsPrefix), before);
    await lease!.close();
    await job.collect(AT_ONCE);
    assert.equal((await keysBelow(backend, KEYS.checkpointsPrefix)).length, 2);
  });

  test("keeps a file until the last of those that read it has ended", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    await job.setRetention({ minCount: 1 });
    await appendDurably(job, "w", "a");
    const [file] = await changeFiles(backend);
    const readings = [1, 2].map(() => job.restore({ at: "tail" })[Symbol.asyncIterator]());
    for (const reading of readings) await reading.next();
    truncate(job);
    await commit(job, "b");
    for (const reading of readings) {
      await job.collect(AT_ONCE);
      assert.ok((await changeFiles(backend)).includes(file));
      await reading.return?.();
    }
    await job.collect(AT_ONCE);
    assert.ok(!(await changeFiles(backend)).includes(file));
  });
});

describe("a pin", () => {
  test("takes a checkpoint out of quarantine at once", async () => {
    const { job } = await openJobOn();
    const [first] = [await commit(job, "a"), await commit(job, "b"), await commit(job, "c")];
    await job.collect();
    const resting = async () => (await job.checkpoints())[0].quarantinedAtMs !== undefined;
    assert.equal(await resting(), true);
    await job.pin(first);
    assert.equal(await resting(), false);
  });
});
