import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import type { JobReader } from "../../src/engine/types.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  flip,
  GENERATION,
  imageOf,
  JOB,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  restoreWriter,
  rewrite,
} from "./_engine.ts";

/** Reads a job the way another process does. */
async function readerOn(objects: StorageBackend): Promise<{
  reader: JobReader;
  backend: FaultyBackend;
}> {
  const { store, backend } = await openEngine(objects, { mode: "read" });
  return { reader: await store.reader(JOB), backend };
}

describe("a reader beside an owner", () => {
  test("sees what is durable, the same as its owner, and leaves nothing but the leases that it takes back", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    append(job, "w", "a");
    const { uuid } = await job.checkpoint({ metadata: { at: 1 } });
    await appendDurably(job, "w", "b");
    await appendDurably(job, "v", "x");
    append(job, "w", "only buffered");
    const before = await imageOf(objects);
    const { reader, backend } = await readerOn(objects);
    assert.deepEqual((await restore(reader, { at: "tail" })).changes, { w: ["a", "b"], v: ["x"] });
    assert.deepEqual((await restore(reader)).changes, { w: ["a"] });
    assert.deepEqual((await restore(reader, { at: uuid })).changes, { w: ["a"] });
    assert.deepEqual(await reader.checkpoints(), await job.checkpoints());
    assert.deepEqual(await reader.checkpointDetails(uuid), await job.checkpointDetails(uuid));
    assert.deepEqual(
      (await reader.writers()).map(({ writer, nextOffset }) => [writer, nextOffset]),
      [
        ["v", 1],
        ["w", 2],
      ],
    );
    assert.equal((await reader.verify()).ok, true);
    await reader.close();
    assert.deepEqual(await imageOf(objects), before);
    for (const kind of ["put", "putIfAbsent", "createAppender", "lock", "delete", "pin"] as const) {
      const keys = backend.keysOf(kind).filter((key) => !key.includes("/readers/"));
      assert.deepEqual(keys, [], kind);
    }
  });

  test("sees more as the owner goes on", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    const { reader } = await readerOn(objects);
    const wanted: string[] = [];
    for (const text of ["a", "b", "c"]) {
      await appendDurably(job, "w", text);
      wanted.push(text);
      assert.deepEqual(await restoreWriter(reader, "w"), wanted);
      await job.checkpoint();
      assert.deepEqual(await restoreWriter(reader, "w", "latest"), wanted);
    }
    await job.resume({ at: (await job.checkpoints())[0].uuid });
    assert.deepEqual(await restoreWriter(reader, "w"), ["a"]);
  });

  test("ends at the last whole batch, and says how much is known to stay", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    await appendDurably(job, "w", "b");
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "c");
    const persisted = job.writer("w").persist();
    await held.reached;
    const { reader } = await readerOn(objects);
    const { changes, trailer } = await restore(reader, { at: "tail" });
    assert.deepEqual(changes, { w: ["a", "b", "c"] });
    assert.equal(trailer.count, 3);
    assert.ok(trailer.confirmed >= 1 && trailer.confirmed <= 2, `${trailer.confirmed} confirmed`);
    held.release();
    await persisted;
  });

  test("reads past a batch that is half written", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    backend.fail({ kind: "write", key: CHANGE_FILE, when: "cut" });
    append(job, "w", "b");
    await assert.rejects(job.writer("w").persist());
    const { reader } = await readerOn(objects);
    assert.deepEqual(await restoreWriter(reader, "w"), ["a"]);
  });

  test("starts over when head or tail change while it scans", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    append(job, "w", "a");
    const { uuid } = await job.checkpoint();
    await appendDurably(job, "w", "rewound");
    const { reader, backend } = await readerOn(objects);
    const held = backend.hold({ kind: "list", key: CHANGE_FILE });
    const reading = restoreWriter(reader, "w");
    await held.reached;
    await job.resume({ at: uuid });
    await appendDurably(job, "w", "b");
    held.release();
    assert.deepEqual(await reading, ["a", "b"]);
  });

  test("does not tell of damage that only looks like it, since the job went on", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    const { reader, backend } = await readerOn(objects);
    backend.fail({ kind: "get", key: CHANGE_FILE, error: new Error("gone meanwhile") });
    const held = backend.hold({ kind: "get", key: CHANGE_FILE });
    const reading = restoreWriter(reader, "w");
    await held.reached;
    await job.checkpoint();
    held.release();
    assert.deepEqual(await reading, ["a"]);
  });

  test("tells of real damage", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    const [file] = await changeFiles(objects);
    await rewrite(objects, file, flip(3));
    const { reader } = await readerOn(objects);
    await rejectsWith(restoreWriter(reader, "w"), "corrupt");
    await rejectsWith(reader.writers(), "corrupt");
  });

  test("works beside a recovery", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    for (const skip of [0, 1]) {
      const backend = new FaultyBackend(objects);
      const held = backend.hold({ kind: "putIfAbsent", key: GENERATION, skip });
      const opening = openJobOn(backend);
      await held.reached;
      const { reader } = await readerOn(objects);
      assert.deepEqual(await restoreWriter(reader, "w"), ["a", "b"]);
      held.release();
      await opening;
      assert.deepEqual(await restoreWriter(reader, "w"), ["a", "b"]);
    }
  });

  test("works on a disk", async () => {
    const disk = new ForgettingDisk();
    const { job, store } = await openJobOn(posixOn(disk));
    append(job, "w", "a");
    await job.checkpoint();
    await appendDurably(job, "w", "b");
    const { reader } = await readerOn(posixOn(disk));
    assert.deepEqual(await restoreWriter(reader, "w"), ["a", "b"]);
    assert.deepEqual(await restoreWriter(reader, "w", "latest"), ["a"]);
    await store.close();
    assert.deepEqual(await restoreWriter(reader, "w"), ["a", "b"]);
  });
});

describe("a reader of what is not there", () => {
  test("is refused, and nothing is made", async () => {
    const disk = new ForgettingDisk();
    await rejectsWith(openEngine(posixOn(disk), { mode: "read" }), "store-not-found");
    const { store } = await openJobOn(posixOn(disk));
    await store.close();
    const reading = await openEngine(posixOn(disk), { mode: "read" });
    const changes = disk.log.length;
    const error = await rejectsWith(reading.store.reader("nobody"), "job-not-found");
    assert.deepEqual(error.details, { job: "nobody" });
    await rejectsWith(reading.store.reader("../x"), "invalid-name");
    const made = disk.log.slice(changes).filter(({ kind }) => ["create", "mkdir"].includes(kind));
    assert.deepEqual(made, []);
    assert.deepEqual(await reading.store.jobs(), [JOB]);
  });

  test("is told which checkpoint and which writer it asked for", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    const { reader } = await readerOn(objects);
    await rejectsWith(reader.checkpointDetails("latest"), "checkpoint-not-found");
    await rejectsWith(restore(reader), "checkpoint-not-found");
    await rejectsWith(restore(reader, { at: "tail", writers: ["x"] }), "writer-not-found");
  });

  test("stops at a signal", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    const { reader } = await readerOn(objects);
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(restore(reader, { at: "tail", signal }));
    await assert.rejects(reader.verify({ signal }));
  });
});
