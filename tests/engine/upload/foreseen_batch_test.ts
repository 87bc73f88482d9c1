import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { AppendBatchOptions } from "../../../src/engine/upload/batch_log.ts";
import {
  CHANGE_SET_BYTES_MAX,
  StateChangeFsUploader,
} from "../../../src/engine/upload/fs_uploader.ts";
import type { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { acquireCodec, releaseCodec } from "../../../wasm/mod.ts";
import { rejectsWith, turn } from "../_engine.ts";
import { type LogBench, newLog, numbersOf, readFiles } from "./_log.ts";
import { RecordedTask, setOf } from "./_sets.ts";

/** Appends batch after batch, each but the last told what comes next. */
async function appendAll({ log }: LogBench, batches: readonly ChangeSet[][]): Promise<void> {
  for (const [i, batch] of batches.entries()) {
    await log.appendBatch(batch, { next: () => batches[i + 1] });
  }
}

/** A set whose bytes a test may change. */
function fading(set: ChangeSet): ChangeSet {
  return { ...set, chunks: set.chunks.map((chunk) => chunk.slice()) };
}

/** Checksum of what a batch of the first file holds. */
async function bodyHash(backend: FaultyBackend, batch: number): Promise<bigint> {
  return (await readFiles(backend))[0].batches[batch].frameHash;
}

async function hashOf(set: ChangeSet): Promise<bigint> {
  const { log, backend } = newLog();
  await log.appendBatch([set]);
  return await bodyHash(backend, 0);
}

function foreseeing(...sets: ChangeSet[]): AppendBatchOptions {
  return { next: () => sets };
}

describe("ChangeFileLog, told what comes next", () => {
  test("encodes it while the sync runs, and writes nothing of it before the sync has returned", async () => {
    const { log, backend } = newLog();
    const next = fading(setOf(1));
    const held = backend.hold({ kind: "sync" });
    const first = log.appendBatch([setOf(0)], foreseeing(next));
    await held.reached;
    const calls = backend.log.length;
    // What was encoded already does not see this.
    next.chunks[0].fill(0);
    await turn();
    assert.equal(backend.log.length, calls);
    held.release();
    await first;
    assert.equal(backend.log.filter(({ kind }) => kind === "write").length, 2);
    await log.appendBatch([next]);
    assert.equal(await bodyHash(backend, 1), await hashOf(setOf(1)));
  });

  test("is told by the uploader of the tasks that come next, but for those that it will refuse", async () => {
    const { log, backend } = newLog();
    const uploader = new StateChangeFsUploader(log, () => {});
    const next = fading(setOf(1));
    const tooLarge = { ...setOf(7), byteLength: CHANGE_SET_BYTES_MAX + 1 };
    const tasks = [[tooLarge], [next]].map((sets) => new RecordedTask(sets).task);
    await uploader.upload([new RecordedTask([setOf(0)]).task], { next: () => tasks });
    next.chunks[0].fill(0);
    const { failed } = await uploader.upload(tasks);
    assert.deepEqual([...failed.keys()], [tasks[0]]);
    assert.equal(await bodyHash(backend, 1), await hashOf(setOf(1)));
  });

  test("makes the same bytes as without", async () => {
    const batches = [[setOf(0), setOf(1)], [setOf(2)], [setOf(3, "x".repeat(100_000)), setOf(4)]];
    const told = newLog();
    await appendAll(told, batches);
    await told.log.seal();
    const untold = newLog();
    for (const batch of batches) await untold.log.appendBatch(batch);
    await untold.log.seal();
    const [one] = await readFiles(told.backend);
    const [other] = await readFiles(untold.backend);
    assert.deepEqual(one.batches, other.batches);
    assert.equal(one.end.kind, "end-frame");
    assert.deepEqual(await told.backend.get(one.key), await untold.backend.get(other.key));
  });

  for (
    const [what, sets] of [["other sets", [setOf(1)]], ["more sets", [setOf(2), setOf(3)]]] as const
  ) {
    test(`writes what does come, though it is ${what}`, async () => {
      const { log, backend } = newLog();
      await log.appendBatch([setOf(0)], foreseeing(setOf(2)));
      await log.appendBatch(sets);
      await log.appendBatch([setOf(5)]);
      await log.seal();
      const [file] = await readFiles(backend);
      const numbers = sets.map(({ sequenceNumber }) => sequenceNumber);
      assert.deepEqual(numbersOf(file), [[0], numbers, [5]]);
      assert.equal(file.end.kind, "end-frame");
    });
  }

  test("ends the file with its end frame, though another batch was foreseen", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)], foreseeing(setOf(1)));
    await log.seal();
    await log.appendBatch([setOf(1)]);
    const [first, second] = await readFiles(backend);
    assert.deepEqual([first, second].map(numbersOf), [[[0]], [[1]]]);
    assert.equal(first.end.kind, "end-frame");
  });

  test("foresees nothing for a file that ends with this batch", async () => {
    const { log, backend } = newLog({ changeFileBytesMax: 1 });
    let asked = 0;
    await log.appendBatch([setOf(0)], { next: () => (asked++, [setOf(1)]) });
    await log.appendBatch([setOf(1)]);
    assert.equal(asked, 0);
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0]], [[1]]]);
  });

  test("writes it to the next file, from its beginning, when the sync has failed", async () => {
    const { log, backend } = newLog();
    await log.appendBatch([setOf(0)]);
    backend.fail({ kind: "sync" });
    await rejectsWith(log.appendBatch([setOf(1)], foreseeing(setOf(2))), "storage-unavailable");
    await log.appendBatch([setOf(1)], foreseeing(setOf(2)));
    await log.appendBatch([setOf(2)]);
    const [first, second] = await readFiles(backend);
    assert.deepEqual(numbersOf(first), [[0], [1]]);
    assert.deepEqual(numbersOf(second), [[1], [2]]);
  });

  test("gives the codec back that it had begun with when the sync fails", async () => {
    const { log, backend } = newLog();
    const codecs = [acquireCodec(), acquireCodec()];
    codecs.forEach(releaseCodec);
    backend.fail({ kind: "sync" });
    await rejectsWith(log.appendBatch([setOf(0)], foreseeing(setOf(1))), "storage-unavailable");
    assert.ok(codecs.includes(acquireCodec()) && codecs.includes(acquireCodec()));
  });

  test("fails with what can't be encoded in its own turn, not in that of the batch before", async () => {
    const { log, backend } = newLog();
    const bad = { ...setOf(1), epoch: 2 };
    await log.appendBatch([setOf(0)], foreseeing(bad));
    await assert.rejects(log.appendBatch([bad]), RangeError);
    await log.appendBatch([setOf(2)]);
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0]], [[2]]]);
  });
});
