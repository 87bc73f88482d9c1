import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readNewestGeneration } from "../../src/engine/checkpoint/catalog_read.ts";
import { JobKeys } from "../../src/engine/paths.ts";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  changesOf,
  flip,
  GENERATION,
  imageOf,
  JOB,
  keysBelow,
  newMemory,
  openJobOn,
  rejectsWith,
  restoreWriter,
  rewrite,
} from "./_engine.ts";

const KEYS = new JobKeys(JOB);

/** A job that was killed after so many durable appends, each a batch of its own. */
async function killed(appends: number): Promise<{ objects: MemoryBackend; file: string }> {
  const objects = newMemory();
  const { job } = await openJobOn(objects);
  for (let i = 0; i < appends; i++) await appendDurably(job, "w", `${i}`);
  const [file] = await changeFiles(objects);
  return { objects, file };
}

/** Opening fails with this code and changes nothing. */
async function refusesUntouched(
  objects: MemoryBackend,
  code: "corrupt" | "changes-lost" | "catalog-lost",
): Promise<Readonly<Record<string, unknown>>> {
  const before = await imageOf(objects);
  const { details } = await rejectsWith(openJobOn(objects), code);
  const after = await imageOf(objects);
  for (const key of Object.keys(before)) assert.equal(after[key], before[key], `${key} changed`);
  const added = Object.keys(after).filter((key) => !Object.hasOwn(before, key));
  // The epoch that was taken, and its fence, are all that an open leaves.
  for (const key of added) assert.ok(/\/(owners|catalog)\//.test(key), `${key} was made`);
  return details;
}

describe("opening a job after a crash", () => {
  test("drops a torn end and tells its range and reason", async () => {
    for (const damage of ["cut", "zeros"] as const) {
      const { objects, file } = await killed(3);
      const { size } = (await objects.head(file))!;
      await rewrite(
        objects,
        file,
        (bytes) => damage === "cut" ? bytes.slice(0, size - 20) : bytes.fill(0, size - 20),
      );
      const image = await imageOf(objects);
      const { job, ports } = await openJobOn(objects);
      assert.deepEqual(await restoreWriter(job, "w"), ["0", "1"]);
      const [{ key, from, to, reason }] = job.recovery.torn;
      assert.equal(key, file);
      assert.equal(to, damage === "cut" ? size - 20 : size);
      assert.ok(from! < size - 20 && reason.length > 0);
      assert.equal(ports.logger.messages("warning").length, 1);
      assert.equal((await imageOf(objects))[file], image[file], "a torn file is never truncated");
      await appendDurably(job, "w", "again");
      assert.deepEqual(await restoreWriter(job, "w"), ["0", "1", "again"]);
    }
  });

  test("tells of many torn ends in one warning: a full disk leaves one with each file", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    backend.fail({ kind: "sync", key: CHANGE_FILE });
    backend.fail({ kind: "write", key: CHANGE_FILE, skip: 1, when: "cut", times: 4 });
    append(job, "w", "b");
    for (let i = 0; i < 5; i++) await rejectsWith(job.writer("w").persist(), "storage-unavailable");
    const { job: next, ports } = await openJobOn(objects);
    assert.equal(next.recovery.torn.length, 4);
    const [warning, ...others] = ports.logger.records.filter(({ level }) => level === "warning");
    assert.deepEqual(others, []);
    const { key, from, to, reason } = next.recovery.torn[0];
    assert.deepEqual(warning.fields, { job: JOB, files: 4, key, from, to, reason });
    const told = ports.logger.records.filter(({ message }) => message === warning.message);
    assert.deepEqual(
      told.map(({ fields }) => fields.key),
      next.recovery.torn.map((torn) => torn.key),
    );
  });

  test("reports what it adopted and copied", async () => {
    const { objects, file } = await killed(3);
    const { job } = await openJobOn(objects);
    const { adoptedSets, adoptedChanges, copiedBatches, torn, warnings } = job.recovery;
    assert.deepEqual([adoptedSets, adoptedChanges, copiedBatches], [3, 3, 1]);
    assert.deepEqual([torn, warnings], [[], []]);
    assert.equal((await changeFiles(objects)).length, 2);
    assert.equal((await changeFiles(objects))[0], file);
  });

  test("does not copy again what was copied before", async () => {
    const { objects } = await killed(3);
    for (let i = 0; i < 5; i++) await openJobOn(objects);
    assert.equal((await changeFiles(objects)).length, 2);
    const { job } = await openJobOn(objects);
    assert.equal(job.recovery.copiedBatches, 0);
    assert.deepEqual(await restoreWriter(job, "w"), ["0", "1", "2"]);
  });

  test("copes with copies that a recovery made that then died", async () => {
    const { objects } = await killed(2);
    for (let i = 0; i < 3; i++) {
      const backend = new FaultyBackend(objects);
      backend.fail({ kind: "putIfAbsent", key: /\/adopted\// });
      await rejectsWith(openJobOn(backend), "storage-unavailable");
    }
    assert.equal((await changeFiles(objects)).length, 4);
    const { job } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(job, "w"), ["0", "1"]);
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["0", "1"]);
    assert.deepEqual((await again.verify()).problems, []);
  });

  test("serves nothing until it is published that it recovered", async () => {
    const { objects } = await killed(1);
    const backend = new FaultyBackend(objects);
    const held = backend.hold({ kind: "putIfAbsent", key: GENERATION, skip: 1 });
    const opening = openJobOn(backend);
    await held.reached;
    const place = { backend: objects, keys: KEYS, store: await openStoreId(objects) };
    assert.equal((await readNewestGeneration(place))?.reason, "fence");
    held.release();
    const { job } = await opening;
    assert.equal((await readNewestGeneration(place))?.reason, "recovered");
    assert.deepEqual(await restoreWriter(job, "w"), ["0"]);
  });

  test("refuses when bytes below a synced length that a header names are bad", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { changeFileBytesMax: 1 });
    for (const text of ["a", "b", "c"]) await appendDurably(job, "w", text);
    const [first, second] = await changeFiles(objects);
    await rewrite(objects, second, flip((await objects.head(second))!.size - 300));
    assert.equal((await refusesUntouched(objects, "corrupt")).key, second);
    await objects.delete(second);
    assert.equal((await refusesUntouched(objects, "changes-lost")).key, second);
    assert.notEqual(first, second);
  });

  test("refuses a file of another store, job or epoch in its folder", async () => {
    const { objects, file } = await killed(1);
    const other = await killed(1);
    const bytes = await other.objects.get(other.file);
    const foreign = KEYS.changeFile({ ...KEYS.parseChangeFile(other.file)!, number: 2 });
    await objects.put(foreign, bytes);
    assert.equal((await refusesUntouched(objects, "corrupt")).key, foreign);
    await objects.delete(foreign);
    const moved = KEYS.changeFile({ ...KEYS.parseChangeFile(file)!, number: 2 });
    await objects.put(moved, await objects.get(file));
    assert.equal((await refusesUntouched(objects, "corrupt")).key, moved);
  });

  test("refuses when the head's manifest is missing or bad", async () => {
    const { objects } = await killed(1);
    const { job, store } = await openJobOn(objects);
    await job.checkpoint();
    await store.close();
    const [manifest] = await keysBelow(objects, KEYS.checkpointsPrefix);
    const bytes = await objects.get(manifest);
    await rewrite(objects, manifest, flip(100));
    assert.equal((await refusesUntouched(objects, "corrupt")).key, manifest);
    await objects.delete(manifest);
    assert.equal((await refusesUntouched(objects, "changes-lost")).key, manifest);
    await objects.put(manifest, bytes);
    await openJobOn(objects);
  });
});

describe("opening a job whose catalog is lost", () => {
  test("refuses, and makes neither lock nor owner key nor anything else", async () => {
    const { objects } = await killed(1);
    for (const key of await keysBelow(objects, KEYS.catalogPrefix)) await objects.delete(key);
    const before = await imageOf(objects);
    const backend = new FaultyBackend(objects);
    await rejectsWith(openJobOn(backend), "catalog-lost");
    assert.deepEqual(await imageOf(objects), before);
    assert.deepEqual(backend.keysOf("lock"), []);
  });

  test("refuses when the newest generation can't be read, although an older one can", async () => {
    const { objects } = await killed(1);
    const newest = (await keysBelow(objects, KEYS.catalogPrefix)).at(-1)!;
    await rewrite(objects, newest, flip(200));
    const before = await imageOf(objects);
    const error = await rejectsWith(openJobOn(objects), "catalog-lost");
    assert.equal(error.details.key, newest);
    assert.deepEqual(await imageOf(objects), before);
  });

  test("takes owner keys alone for an open that died: the job is new, and counts on", async () => {
    const objects = newMemory();
    const backend = new FaultyBackend(objects);
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(openJobOn(backend), "storage-unavailable");
    const { job } = await openJobOn(objects);
    assert.deepEqual([job.epoch, job.run], [2, 1]);
    await appendDurably(job, "w", "a");
    assert.deepEqual(await restoreWriter(job, "w"), ["a"]);
  });
});

describe("idempotent appends over a reopen", () => {
  test("are compared with what is stored", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    await job.writer("w").appendAt(0, changesOf("a", "b"));
    append(job, "w", "c");
    await job.checkpoint();
    await job.writer("w").appendAt(3, changesOf("d"));
    const { job: again, backend } = await openJobOn(objects);
    const writer = again.writer("w");
    assert.equal(writer.nextOffset, 4);
    for (const [offset, ...texts] of [[0, "a", "b"], [1, "b", "c", "d"], [3, "d"]] as const) {
      const { nextOffset } = await writer.appendAt(offset, changesOf(...texts));
      assert.equal(nextOffset, offset + texts.length);
    }
    await rejectsWith(writer.appendAt(0, changesOf("a", "x")), "offset-conflict");
    const error = await rejectsWith(writer.appendAt(3, changesOf("d", "e")), "offset-mismatch");
    assert.equal(error.details.expectedOffset, 4);
    assert.equal(writer.nextOffset, 4);
    assert.deepEqual(
      backend.keysOf("write").filter((key) => CHANGE_FILE.test(key)).length > 0,
      true,
    );
  });
});

async function openStoreId(objects: MemoryBackend): Promise<string> {
  const text = new TextDecoder().decode(await objects.get("TIDEMARK"));
  return /"store":"([^"]+)"/.exec(text)![1];
}
