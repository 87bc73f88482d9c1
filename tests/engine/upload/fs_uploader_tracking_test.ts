import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MIB } from "../../../src/engine/limits.ts";
import { ChangeFileLog } from "../../../src/engine/upload/change_file_log.ts";
import { StateChangeFsUploader } from "../../../src/engine/upload/fs_uploader.ts";
import { TaskChangelogRegistry } from "../../../src/engine/upload/task_changelog_registry.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import { NO_METRICS } from "../../../src/engine/port/metrics.ts";
import { resolveSettings, type StoreSettings } from "../../../src/engine/settings.ts";
import { newUuid } from "../../../src/engine/uuid.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { CHANGE_FILE, changeFiles, JOB, newMemory, rejectsWith, Surroundings } from "../_engine.ts";
import { RecordedTask, setOf } from "./_sets.ts";

interface TrackingBench {
  readonly uploader: StateChangeFsUploader;
  readonly registry: TaskChangelogRegistry;
  readonly log: ChangeFileLog;
  readonly backend: FaultyBackend;
  readonly discarded: string[];
  /** Called when the uploader asks whether the job is still ours. */
  onOwnerCheck: () => void;
}

/** An uploader whose log and results are counted by a registry. */
function newBench(settings: Partial<StoreSettings> = {}): TrackingBench {
  const ports = new Surroundings();
  const backend = new FaultyBackend(newMemory());
  const discarded: string[] = [];
  const registry = new TaskChangelogRegistry({ discard: (keys) => void discarded.push(...keys) });
  const log = new ChangeFileLog({
    backend,
    keys: new JobKeys(JOB),
    store: newUuid(ports),
    epoch: 1,
    run: 1,
    settings: resolveSettings(settings),
    ports,
    followers: [registry],
  });
  const metrics = new UploadMetrics(NO_METRICS, JOB);
  const uploader = new StateChangeFsUploader(log, () => bench.onOwnerCheck(), {
    ...ports,
    metrics,
    registry,
  });
  const bench: TrackingBench = {
    uploader,
    registry,
    log,
    backend,
    discarded,
    onOwnerCheck() {},
  };
  return bench;
}

function taskOf(...numbers: number[]) {
  return new RecordedTask(numbers.map((number) => setOf(number))).task;
}

/** Tasks that are too large for one batch. */
function tasksOfTwoBatches() {
  const text = "x".repeat(40 * MIB);
  return [0, 1].map((number) => new RecordedTask([setOf(number, text)]).task);
}

describe("StateChangeFsUploader counts", () => {
  test("a reference for each change set that became durable, of all writers in the file", async () => {
    const { uploader, registry, log, discarded } = newBench();
    const { successful } = await uploader.upload([taskOf(0, 1), taskOf(2)]);
    const keys = [...successful.values()].flat().map(({ key }) => key);
    await log.seal();
    for (const key of keys.slice(1)) registry.release(key);
    assert.deepEqual(discarded, []);
    registry.release(keys[0]);
    assert.deepEqual(discarded, [keys[0]]);
  });

  test("nothing of an attempt that failed, and lets its file go", async () => {
    const { uploader, registry, backend, discarded } = newBench();
    backend.fail({ kind: "sync" });
    await rejectsWith(uploader.upload([taskOf(0)]), "storage-unavailable");
    const [key] = await changeFiles(backend);
    assert.deepEqual(discarded, [key]);
    assert.equal(registry.trackedFiles, 0);
  });

  test("nothing of the first batch when the second failed, so that a retry counts once", async () => {
    const { uploader, registry, log, backend, discarded } = newBench({ compression: "none" });
    backend.fail({ kind: "sync", skip: 1 });
    const tasks = tasksOfTwoBatches();
    await rejectsWith(uploader.upload(tasks), "storage-unavailable");
    const [first] = await changeFiles(backend);
    assert.deepEqual(discarded, [first]);
    const { successful } = await uploader.upload(tasks);
    await log.seal();
    const keys = [...successful.values()].flat().map(({ key }) => key);
    assert.deepEqual([...registry.trackedKeys], [keys[0]]);
    for (const key of keys) registry.release(key);
    assert.deepEqual(discarded, [first, keys[0]]);
  });

  test("nothing that became durable under another owner", async () => {
    const bench = newBench();
    bench.onOwnerCheck = () => {
      throw new Error("fenced");
    };
    await assert.rejects(bench.uploader.upload([taskOf(0)]), /fenced/);
    await bench.log.seal();
    assert.equal(bench.registry.trackedFiles, 0);
  });

  test("nothing that comes when nobody waits for it any more", async () => {
    const bench = newBench();
    const abort = new AbortController();
    bench.onOwnerCheck = () => abort.abort(new Error("too late"));
    await assert.rejects(bench.uploader.upload([taskOf(0)], abort), /too late/);
    await bench.log.seal();
    assert.equal(bench.registry.trackedFiles, 0);
  });

  test("no longer what is taken back", async () => {
    const { uploader, log, registry, discarded } = newBench();
    const result = await uploader.upload([taskOf(0, 1), taskOf(2)]);
    await log.seal();
    uploader.discard(result);
    assert.equal(registry.trackedFiles, 0);
    assert.equal(discarded.length, 1);
  });

  test("nothing of a task that is refused", async () => {
    const { uploader, registry } = newBench();
    const tooLarge = new RecordedTask([{ ...setOf(0), byteLength: 2 ** 30 }]).task;
    const { failed } = await uploader.upload([tooLarge]);
    assert.deepEqual([...failed.keys()], [tooLarge]);
    assert.equal(registry.trackedFiles, 0);
  });
});

describe("a log and its followers", () => {
  test("get the very bytes of each file, in order, and its end once", async () => {
    const ports = new Surroundings();
    const backend = new FaultyBackend(newMemory());
    const followed = new Map<string, { bytes: number[]; ends: number }>();
    const log = new ChangeFileLog({
      backend,
      keys: new JobKeys(JOB),
      store: newUuid(ports),
      epoch: 1,
      run: 1,
      settings: resolveSettings(),
      ports,
      followers: [{
        begin(key) {
          const file = { bytes: [] as number[], ends: 0 };
          followed.set(key, file);
          return {
            write: (bytes) => void file.bytes.push(...bytes),
            end: () => void file.ends++,
          };
        },
      }],
    });
    await log.appendBatch([setOf(0)]);
    await log.appendBatch([setOf(1), setOf(2)]);
    await log.seal();
    await log.appendBatch([setOf(3)]);
    backend.fail({ kind: "write", key: CHANGE_FILE });
    await rejectsWith(log.appendBatch([setOf(4)]), "storage-unavailable");
    await log.appendBatch([setOf(5)]);
    await log.close();
    const keys = await changeFiles(backend);
    assert.deepEqual([...followed.keys()], keys);
    for (const key of [keys[0], keys[2]]) {
      assert.deepEqual(followed.get(key)!.bytes, [...await backend.get(key)]);
    }
    const cut = [...await backend.get(keys[1])];
    assert.deepEqual(followed.get(keys[1])!.bytes.slice(0, cut.length), cut);
    assert.deepEqual([...followed.values()].map(({ ends }) => ends), [1, 1, 1]);
  });

  test("say which files count no more, when nobody needs what is in them", async () => {
    const { log } = newBench();
    const { key } = await log.appendBatch([setOf(0)]);
    await log.seal();
    const { key: next } = await log.appendBatch([setOf(1)]);
    log.forget([key, "another"]);
    assert.deepEqual(log.files.map((file) => file.key), [next]);
  });

  test("say which change sets a file holds, by writer", async () => {
    const { log } = newBench();
    const other = (number: number) => ({ ...setOf(number), writer: "other" });
    await log.appendBatch([setOf(3), other(7)]);
    await log.appendBatch([setOf(5), setOf(2)]);
    const [{ sets }] = log.files;
    assert.deepEqual([...sets], [
      ["totals", { first: 2, last: 5 }],
      ["other", { first: 7, last: 7 }],
    ]);
  });
});
