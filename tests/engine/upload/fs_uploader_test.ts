import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import { MIB } from "../../../src/engine/limits.ts";
import { splitIntoBatches, StateChangeFsUploader } from "../../../src/engine/upload/fs_uploader.ts";
import { rejectsWith } from "../_engine.ts";
import { newLog, numbersOf, readFiles } from "./_log.ts";
import { RecordedTask, setOf } from "./_sets.ts";

function sized(sequenceNumber: number, byteLength: number): ChangeSet {
  return { ...setOf(sequenceNumber), byteLength };
}

function lengths(sets: readonly ChangeSet[]): number[] {
  return splitIntoBatches(sets).map((batch) => batch.length);
}

describe("splitIntoBatches", () => {
  test("makes one batch of what fits, and none of nothing", () => {
    assert.deepEqual(splitIntoBatches([]), []);
    assert.deepEqual(lengths([sized(0, 1), sized(1, 64 * MIB - 1)]), [2]);
  });

  test("begins the next batch where the body would be too large, in order", () => {
    const sets = [sized(0, 40 * MIB), sized(1, 24 * MIB), sized(2, 1), sized(3, 64 * MIB)];
    const numbers = splitIntoBatches(sets).map((batch) => batch.map((set) => set.sequenceNumber));
    assert.deepEqual(numbers, [[0, 1], [2], [3]]);
  });

  test("gives a set that is larger than that a batch of its own", () => {
    assert.deepEqual(lengths([sized(0, 1), sized(1, 200 * MIB), sized(2, 1)]), [1, 1, 1]);
  });

  test("begins the next batch after 50,000 sets, so that an index stays small", () => {
    const set = setOf(0);
    assert.deepEqual(lengths(Array.from({ length: 50_001 }, () => set)), [50_000, 1]);
  });
});

describe("StateChangeFsUploader", () => {
  test("writes the sets of all tasks as one batch, and tells each where its own are", async () => {
    const { log, backend } = newLog();
    const uploader = new StateChangeFsUploader(log, () => {});
    const tasks = [[setOf(0), setOf(1)], [setOf(2)]].map((sets) => new RecordedTask(sets).task);
    const { successful, failed } = await uploader.upload(tasks);
    const [file] = await readFiles(backend);
    assert.deepEqual(numbersOf(file), [[0, 1, 2]]);
    assert.equal(failed.size, 0);
    const place = { key: file.key, batch: 0 };
    const resultOf = ({ sequenceNumber, byteLength }: ChangeSet) => (
      { ...place, sequenceNumber, byteLength }
    );
    assert.deepEqual(successful.get(tasks[0]), tasks[0].changeSets.map(resultOf));
    assert.deepEqual(successful.get(tasks[1]), tasks[1].changeSets.map(resultOf));
  });

  test("asks whether the job is still its own after the sync, before it tells anyone", async () => {
    const { log, backend } = newLog();
    const seen: string[][] = [];
    const uploader = new StateChangeFsUploader(
      log,
      () => void seen.push(backend.log.map(({ kind }) => kind)),
    );
    await uploader.upload([new RecordedTask([setOf(0)]).task]);
    assert.equal(seen.length, 1);
    assert.equal(seen[0].at(-1), "sync");
  });

  test("tells nobody when the job has another owner, although the batch is durable", async () => {
    const { log } = newLog();
    const fenced = new Error("fenced");
    const uploader = new StateChangeFsUploader(log, () => {
      throw fenced;
    });
    await assert.rejects(uploader.upload([new RecordedTask([setOf(0)]).task]), fenced);
    assert.equal(log.files.length, 1);
  });

  test("throws what the log throws, and settles no task by itself", async () => {
    const { log, backend } = newLog();
    backend.fail({ kind: "sync" });
    const recorded = new RecordedTask([setOf(0)]);
    const uploader = new StateChangeFsUploader(log, () => {});
    await rejectsWith(uploader.upload([recorded.task]), "storage-unavailable");
    assert.equal(recorded.outcome, "none");
  });

  test("seals the open file at close", async () => {
    const { log, backend } = newLog();
    const uploader = new StateChangeFsUploader(log, () => {});
    await uploader.upload([new RecordedTask([setOf(0)]).task]);
    await uploader.close();
    assert.equal((await readFiles(backend))[0].end.kind, "end-frame");
  });
});
