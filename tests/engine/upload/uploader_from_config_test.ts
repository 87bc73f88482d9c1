import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fenced } from "../../../src/engine/checkpoint/owner_key.ts";
import { resolveSettings, type StoreSettings } from "../../../src/engine/settings.ts";
import { schedulerFromConfig } from "../../../src/engine/upload/scheduler_from_config.ts";
import { TaskChangelogRegistry } from "../../../src/engine/upload/task_changelog_registry.ts";
import {
  type UploaderComponents,
  uploaderFromConfig,
} from "../../../src/engine/upload/uploader_from_config.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import {
  appendDurably,
  changeFiles,
  hasSettled,
  imageOf,
  JOB,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  Surroundings,
  turn,
} from "../_engine.ts";
import { numbersOf, readFiles } from "./_log.ts";
import { RecordedTask, setOf } from "./_sets.ts";

/** Compresses to little. */
const TEXT = "x".repeat(1000);
const OWNER = { store: "01b8dac5-b400-748f-bf9e-67c476250cbf", epoch: 4, run: 2, check() {} };

/** An uploader over objects in memory, with what it is made of. */
function newUploader(
  given: Partial<UploaderComponents> = {},
  settings: Partial<StoreSettings> = {},
  objects = newMemory(),
) {
  const backend = new FaultyBackend(objects);
  const discarded: string[] = [];
  const registry = new TaskChangelogRegistry({ discard: (keys) => void discarded.push(...keys) });
  const ports = new Surroundings();
  const components = { ...ports, backend, registry, ...given };
  const uploader = uploaderFromConfig(JOB, resolveSettings(settings), components);
  const upload = async (number: number) => {
    const { task } = new RecordedTask([setOf(number, TEXT)]);
    const { successful } = await uploader.upload([task]);
    return successful.get(task)![0];
  };
  return { objects, backend, registry, discarded, uploader, upload, ports };
}

describe("uploaderFromConfig", () => {
  test("writes the change files of its owner, as the settings say", async () => {
    const settings = { compression: "none", changeFileBytesMax: 1 } as const;
    const { upload, uploader, backend, registry } = newUploader({ owner: OWNER }, settings);
    const keys = [(await upload(0)).key, (await upload(1)).key];
    await uploader.close();
    const files = await readFiles(backend);
    assert.deepEqual(files.map(({ key }) => key), keys);
    for (const { header, size } of files) {
      const { job, store, epoch, run } = header!;
      assert.deepEqual([job, store, epoch, run], [JOB, OWNER.store, 4, 2]);
      assert.ok(size > TEXT.length, `${size} bytes`);
    }
    assert.equal(registry.trackedFiles, 2);
    // Whoever says as whose it writes has the place ready.
    assert.deepEqual([backend.keysOf("prepare"), backend.keysOf("list").length], [[], 1]);
  });

  test("tells nobody when its owner is none any more, and needs nothing of it", async () => {
    const owner = {
      ...OWNER,
      check: () => {
        throw fenced(JOB, 5);
      },
    };
    const { upload, uploader, discarded, backend } = newUploader({ owner });
    await rejectsWith(upload(0), "fenced");
    await uploader.close();
    assert.deepEqual(discarded, await changeFiles(backend));
    assert.equal(discarded.length, 1);
  });

  test("without an owner writes as nobody's, each as another store's", async () => {
    const objects = newMemory();
    for (const number of [0, 1]) {
      const { upload, uploader } = newUploader(new Surroundings(number + 1), {}, objects);
      await upload(number);
      await upload(number + 10);
      await uploader.close();
    }
    const files = await readFiles(objects);
    assert.deepEqual(files.map(numbersOf).sort(), [[[0], [10]], [[1], [11]]]);
    assert.equal(new Set(files.map(({ header }) => header!.store)).size, 2);
    for (const { header } of files) assert.deepEqual([header!.epoch, header!.run], [1, 1]);
  });

  test("makes its place once, and tries again where that failed", async () => {
    const { upload, backend } = newUploader();
    backend.fail({ kind: "prepare" });
    await rejectsWith(upload(0), "storage-unavailable");
    await upload(0);
    await upload(1);
    assert.equal(backend.keysOf("prepare").length, 2);
    assert.equal(backend.keysOf("list").length, 1);
  });

  test("refuses a job that a store has, and touches nothing", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    await appendDurably(job, "w", "a");
    await store.close();
    const before = await imageOf(objects);
    const { upload, uploader } = newUploader({}, {}, objects);
    const error = await rejectsWith(upload(0), "object-exists");
    assert.match(error.message, /a store has that job .*; open it by openStore, or use another/);
    await uploader.close();
    assert.deepEqual(await imageOf(objects), before);
  });

  test("leaves files that a store neither takes for a job nor collects", async () => {
    const objects = newMemory();
    const { store: made } = await openEngine(objects);
    await made.close();
    const { upload, uploader } = newUploader({}, {}, objects);
    await upload(0);
    await uploader.close();
    const before = await imageOf(objects);
    const { store } = await openEngine(objects);
    await rejectsWith(store.job(JOB), "catalog-lost");
    assert.deepEqual(await imageOf(objects), before);
  });

  test("makes local copies byte for byte, says where, and has them whole when it is closed", async () => {
    const local = new FaultyBackend(newMemory());
    const { upload, uploader, objects } = newUploader({ localRecovery: { backend: local } });
    const { key, localKey } = await upload(0);
    assert.equal(localKey, key);
    const held = local.hold({ kind: "closeAppender" });
    const closing = uploader.close();
    await held.reached;
    assert.equal(await hasSettled(closing), false);
    held.release();
    await closing;
    assert.deepEqual(await local.get(key), await objects.get(key));
    assert.equal((await readFiles(local))[0].end.kind, "end-frame");
  });

  test("goes on without local copies that fail or hang", async () => {
    const local = new FaultyBackend(newMemory());
    const localRecovery = { backend: local };
    const settings = { changeFileBytesMax: 1 };
    const { upload, uploader, ports } = newUploader({ localRecovery }, settings);
    local.fail({ kind: "createAppender" });
    assert.equal((await upload(0)).localKey, undefined);
    local.hold({ kind: "write" });
    const uploading = upload(1);
    await turn();
    await ports.clock.advance(5);
    assert.equal((await uploading).localKey, undefined);
    const closing = uploader.close();
    await turn();
    await ports.clock.advance(1000);
    await closing;
  });

  test("refuses what is no name of a job", () => {
    const components = { ...new Surroundings(), backend: newMemory() };
    assert.throws(() => uploaderFromConfig("a/b", resolveSettings(), components), {
      code: "invalid-name",
    });
  });
});

test("schedulerFromConfig over a backend batches, writes, and ends the file when it drains", async () => {
  const backend = newMemory();
  const ports = new Surroundings();
  const settings = resolveSettings({ persistDelayMs: 10 });
  const scheduler = schedulerFromConfig(JOB, settings, { ...ports, backend });
  const tasks = [0, 1, 2].map((number) => new RecordedTask([setOf(number)]));
  for (const { task } of tasks) scheduler.upload(task);
  assert.deepEqual(await changeFiles(backend), []);
  await ports.clock.advance(10);
  await scheduler.whenIdle();
  assert.deepEqual(tasks.map(({ outcome }) => outcome), ["complete", "complete", "complete"]);
  await scheduler.close();
  const [file, ...others] = await readFiles(backend);
  assert.deepEqual([numbersOf(file), file.end.kind, others], [[[0, 1, 2]], "end-frame", []]);
});
