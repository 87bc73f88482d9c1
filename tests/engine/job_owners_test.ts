import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  changesOf,
  GENERATION,
  type JobEngine,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
  restoreWriter,
  throwsWith,
} from "./_engine.ts";
import { PLACES } from "./_places.ts";

const TAKE = { takeOver: true };

for (const [name, newShared] of Object.entries(PLACES)) {
  describe(`two owners in one ${name}`, () => {
    test("the older acknowledges nothing once the newer has its key", async () => {
      const newBackend = newShared();
      const { job: old } = await openJobOn(newBackend());
      await appendDurably(old, "w", "a");
      append(old, "w", "b");
      const writer = old.writer("w");
      const { job: young } = await openJobOn(newBackend(), {}, TAKE);
      const error = await rejectsWith(writer.persist(), "fenced");
      assert.equal(error.outcome, "unknown");
      await rejectsWith(writer.persist(), "fenced");
      throwsWith(() => append(old, "w", "c"), "fenced");
      assert.deepEqual(await restoreWriter(young, "w"), ["a"]);
      await appendDurably(young, "w", "b2");
      assert.deepEqual(await restoreWriter(young, "w"), ["a", "b2"]);
    });

    test("the older does not even acknowledge what was durable before", async () => {
      const newBackend = newShared();
      const { job: old } = await openJobOn(newBackend());
      const changes = changesOf("a");
      await old.writer("w").appendAt(0, changes);
      await openJobOn(newBackend(), {}, TAKE);
      await rejectsWith(old.writer("w").appendAt(0, changes), "fenced");
    });

    test("the older's checkpoint fails and is not listed", async () => {
      const newBackend = newShared();
      const { job: old } = await openJobOn(newBackend());
      append(old, "w", "a");
      const { uuid } = await old.checkpoint();
      const { job: young } = await openJobOn(newBackend(), {}, TAKE);
      await rejectsWith(old.checkpoint(), "fenced");
      assert.deepEqual((await young.checkpoints()).map((one) => one.uuid), [uuid]);
      await rejectsWith(old.checkpoint(), "fenced");
      await rejectsWith(old.resume(), "fenced");
    });
  });
}

describe("two owners", () => {
  test("what is in flight while the newer takes over is not acknowledged, nor adopted later", async () => {
    const objects = newMemory();
    const { job: old, backend } = await openJobOn(objects);
    await appendDurably(old, "w", "a");
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(old, "w", "late");
    const persisted = old.writer("w").persist();
    await held.reached;
    const { job: young } = await openJobOn(objects);
    held.release();
    await rejectsWith(persisted, "fenced");
    // Its batch was whole before the newer scanned, so that it may be there, or not; but for good.
    const adopted = await restoreWriter(young, "w");
    assert.deepEqual(adopted, ["a", "late"]);
    await appendDurably(young, "w", "b");
    const { job: third } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(third, "w"), [...adopted, "b"]);
  });

  test("what a fenced owner writes after the newer's scan is never adopted", async () => {
    const objects = newMemory();
    const { job: old, backend } = await openJobOn(objects);
    await appendDurably(old, "w", "a");
    const held = backend.hold({ kind: "write", key: CHANGE_FILE });
    append(old, "w", "late");
    const persisted = old.writer("w").persist();
    await held.reached;
    const { job: young } = await openJobOn(objects);
    await appendDurably(young, "w", "b");
    held.release();
    await rejectsWith(persisted, "fenced");
    const { job: third } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(third, "w"), ["a", "b"]);
    assert.deepEqual((await third.verify()).problems, []);
  });

  test("a checkpoint that was being published when the newer came is fenced", async () => {
    const objects = newMemory();
    const { job: old, backend } = await openJobOn(objects);
    append(old, "w", "a");
    const held = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const made = old.checkpoint();
    await held.reached;
    const { job: young } = await openJobOn(objects);
    held.release();
    await rejectsWith(made, "fenced");
    assert.deepEqual(await young.checkpoints(), []);
    throwsWith(() => append(old, "w", "b"), "fenced");
    assert.deepEqual(await restoreWriter(young, "w"), ["a"]);
  });

  test("a checkpoint that was published before the newer came counts, though it was not answered", async () => {
    const objects = newMemory();
    const { job: old, backend } = await openJobOn(objects);
    append(old, "w", "a");
    const listed = backend.hold({ kind: "list", key: GENERATION });
    const made = old.checkpoint();
    await listed.reached;
    const { job: young } = await openJobOn(objects);
    listed.release();
    await rejectsWith(made, "fenced");
    assert.equal((await young.checkpoints()).length, 1);
    assert.deepEqual((await restore(young)).changes, { w: ["a"] });
  });

  test("an opener that another one overtakes serves nothing", async () => {
    const objects = newMemory();
    const first = await openJobOn(objects);
    await appendDurably(first.job, "w", "a");
    await first.store.close();
    for (const kind of ["putIfAbsent", "list", "get"] as const) {
      const slow = await opening(objects, kind);
      const { job, store } = await openJobOn(objects);
      slow.release();
      await rejectsWith(slow.opened, "fenced");
      assert.deepEqual(await restoreWriter(job, "w"), ["a"]);
      await store.close();
    }
  });

  test("an opener serves nothing once another has its key, though that has published nothing", async () => {
    const objects = newMemory();
    const first = await openJobOn(objects);
    await appendDurably(first.job, "w", "a");
    await first.store.close();
    const slow = await opening(objects, "get");
    const quick = await opening(objects, "putIfAbsent");
    slow.release();
    await rejectsWith(slow.opened, "fenced");
    quick.release();
    const { job } = await quick.opened;
    assert.deepEqual(await restoreWriter(job, "w"), ["a"]);
    await appendDurably(job, "w", "b");
  });

  test("many owners, one after another, keep what each acknowledged", async () => {
    const objects = newMemory();
    const wanted: string[] = [];
    for (let epoch = 1; epoch <= 25; epoch++) {
      const { job } = await openJobOn(objects);
      assert.equal(job.epoch, epoch);
      assert.deepEqual(await restoreWriter(job, "w"), wanted);
      await appendDurably(job, "w", `of epoch ${epoch}`);
      wanted.push(`of epoch ${epoch}`);
      append(job, "w", "never acknowledged");
      if (epoch % 10 === 0) await job.checkpoint().then(() => wanted.push("never acknowledged"));
    }
    const { job } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(job, "w"), wanted);
    assert.deepEqual((await job.verify()).problems, []);
    assert.ok((await changeFiles(objects)).length > 0);
  });
});

/** An open, one of whose calls is held before it takes effect. */
async function opening(
  objects: StorageBackend,
  kind: "putIfAbsent" | "list" | "get",
): Promise<{ opened: Promise<JobEngine>; release: () => void }> {
  const backend = new FaultyBackend(objects);
  const held = backend.hold({ kind, key: kind === "putIfAbsent" ? GENERATION : CHANGE_FILE });
  const opened = openJobOn(backend);
  opened.catch(() => undefined);
  await held.reached;
  return { opened, release: held.release };
}
