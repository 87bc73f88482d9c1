import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KIB, MIB } from "../../../src/engine/limits.ts";
import { HeldCodecThread } from "../../doubles/held_codec_thread.ts";
import {
  append,
  appendDurably,
  JOB,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restoreWriter,
  turn,
} from "../_engine.ts";
import { type LogBench, newLog, newThreadLog, numbersOf, readFiles } from "./_log.ts";
import { LARGE_SET_SEED as SEED, largeSet, setOf } from "./_sets.ts";

async function bytesOf({ backend }: LogBench): Promise<Uint8Array[]> {
  const files = await readFiles(backend);
  return await Promise.all(files.map(async ({ key }) => (await backend.get(key))!));
}

describe("ChangeFileLog, on a codec thread", () => {
  for (const compression of ["lz4", "none"] as const) {
    for (const blockBytes of [64 * KIB, 256 * KIB, 4 * MIB]) {
      test(`makes the bytes that it makes without, ${compression}, ${blockBytes}`, async () => {
        console.log(`seed ${SEED}`);
        const batches = [
          [largeSet(0, 300 * KIB), largeSet(1, 200 * KIB, 100 * KIB)],
          [setOf(2)],
          // More than what a thread is given at once.
          [largeSet(3, 9 * MIB, 2 * MIB)],
          [largeSet(4, 256 * KIB)],
        ];
        const settings = { compression, blockBytes };
        const onThread = newThreadLog(settings);
        const without = newLog(settings);
        for (const { log } of [onThread, without]) {
          for (const [i, batch] of batches.entries()) {
            await log.appendBatch(batch, { next: () => batches[i + 1] });
          }
          await log.seal();
        }
        assert.deepEqual(await bytesOf(onThread), await bytesOf(without));
        assert.deepEqual([onThread.thread.lent, onThread.thread.released], [3, 3]);
      });
    }
  }

  test("encodes a batch of small sets without it", async () => {
    const { log, thread } = newThreadLog();
    await log.appendBatch([0, 1, 2].map((number) => largeSet(number, 200 * KIB)));
    assert.equal(thread.lent, 0);
    await log.appendBatch([largeSet(3, 100), largeSet(4, 300 * KIB)]);
    assert.equal(thread.lent, 1);
  });

  test("encodes without it once it is gone", async () => {
    const bench = newThreadLog();
    await bench.log.appendBatch([largeSet(0, MIB)]);
    bench.thread.isGone = true;
    await bench.log.appendBatch([largeSet(1, MIB)]);
    assert.deepEqual((await readFiles(bench.backend)).map(numbersOf), [[[0], [1]]]);
    assert.deepEqual([bench.thread.lent, bench.thread.released], [1, 1]);
  });

  test("goes on with the next batch while the last piece of one is written", async () => {
    const { log, thread, backend } = newThreadLog({}, { isHeld: true });
    const sets = [largeSet(0, MIB), largeSet(1, MIB)];
    const first = log.appendBatch([sets[0]], { next: () => [sets[1]] });
    await turn();
    const held = backend.hold({ kind: "write" });
    thread.run();
    await held.reached;
    await turn();
    assert.equal(thread.waitingCount, 1);
    held.release();
    await first;
    const second = log.appendBatch([sets[1]]);
    await turn();
    assert.equal(backend.log.filter(({ kind }) => kind === "write").length, 2);
    thread.run();
    await second;
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0], [1]]]);
    assert.deepEqual([thread.lent, thread.released], [2, 2]);
  });

  test("encodes the next batch without it only when the last piece of one is written", async () => {
    const { log, thread, backend } = newThreadLog({}, { isHeld: true });
    const next = { ...setOf(1), chunks: setOf(1).chunks.map((chunk) => chunk.slice()) };
    const first = log.appendBatch([largeSet(0, MIB)], { next: () => [next] });
    await turn();
    const held = backend.hold({ kind: "write" });
    thread.run();
    await held.reached;
    await turn();
    // The last byte of the only change: not encoded yet, so it is what is written.
    next.chunks[0][next.byteLength - 1] = 33;
    held.release();
    await first;
    await log.appendBatch([next]);
    const without = newLog();
    await without.log.appendBatch([largeSet(0, MIB)]);
    await without.log.appendBatch([next]);
    const [[found], [wanted]] = [await readFiles(backend), await readFiles(without.backend)];
    assert.equal(found.batches[1].frameHash, wanted.batches[1].frameHash);
  });

  for (const kind of ["write", "sync"] as const) {
    test(`gives its codecs back when the ${kind} fails while it encodes the next batch`, async () => {
      const { log, thread, backend } = newThreadLog();
      await log.appendBatch([setOf(0)]);
      const next = [largeSet(2, MIB)];
      backend.fail({ kind });
      const failing = log.appendBatch([largeSet(1, MIB)], { next: () => next });
      await rejectsWith(failing, "storage-unavailable");
      assert.deepEqual([thread.lent, thread.released], [2, 2]);
      await log.appendBatch([largeSet(1, MIB)]);
      await log.appendBatch(next);
      const [, second] = await readFiles(backend);
      assert.deepEqual(numbersOf(second), [[1], [2]]);
    });
  }

  test("does not wait for it when the batch is given up, and writes nothing late", async () => {
    const { log, thread, backend } = newThreadLog({}, { isHeld: true });
    await log.appendBatch([setOf(0)]);
    const given = new AbortController();
    const failing = log.appendBatch([largeSet(1, MIB)], { signal: given.signal });
    await turn();
    given.abort(new Error("too late"));
    await assert.rejects(failing, /too late/);
    const second = log.appendBatch([setOf(2)]);
    await second;
    assert.equal(thread.waitingCount, 1);
    const writes = backend.log.filter(({ kind }) => kind === "write").length;
    thread.run();
    await turn();
    assert.equal(backend.log.filter(({ kind }) => kind === "write").length, writes);
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0]], [[2]]]);
    assert.deepEqual([thread.lent, thread.released], [1, 1]);
  });

  test("ends the file while it encodes what will not come", async () => {
    const { log, thread, backend } = newThreadLog({}, { isHeld: true });
    const first = log.appendBatch([setOf(0)], { next: () => [largeSet(1, MIB)] });
    await first;
    assert.equal(thread.waitingCount, 1);
    await log.seal();
    thread.run();
    await turn();
    const [file] = await readFiles(backend);
    assert.deepEqual(numbersOf(file), [[0]]);
    assert.equal(file.end.kind, "end-frame");
    assert.deepEqual([thread.lent, thread.released], [1, 1]);
  });

  test("keeps the codec while a piece is written, though the thread has failed", async () => {
    const { log, thread, backend } = newThreadLog({ compression: "none" }, { isHeld: true });
    await log.appendBatch([setOf(0)]);
    let held = backend.hold({ kind: "write" });
    // The first 4 MiB are four pieces; the last of them is written while the thread has the rest.
    const failing = assert.rejects(
      log.appendBatch([largeSet(1, 5 * MIB)]),
      /the thread has failed/,
    );
    await turn();
    thread.run();
    for (let piece = 1; piece < 4; piece++) {
      await held.reached;
      const { release } = held;
      held = backend.hold({ kind: "write" });
      release();
    }
    await held.reached;
    await turn();
    assert.equal(thread.waitingCount, 1);
    thread.fail(new Error("the thread has failed"));
    await turn();
    assert.equal(thread.released, 0);
    held.release();
    await failing;
    await turn();
    assert.equal(thread.released, 1);
  });

  test("gives back the codec of what it had begun, when it is told that nothing comes", async () => {
    const { log, thread, backend } = newThreadLog({}, { isHeld: true });
    const held = backend.hold({ kind: "sync" });
    const writing = log.appendBatch([setOf(0)], { next: () => [largeSet(1, MIB)] });
    await held.reached;
    log.withdraw();
    log.withdraw();
    assert.deepEqual([thread.lent, thread.released], [1, 1]);
    held.release();
    await writing;
    await log.appendBatch([setOf(2)]);
    assert.deepEqual((await readFiles(backend)).map(numbersOf), [[[0], [2]]]);
  });

  test("tells how long the disk took", async () => {
    const { log, ports, backend } = newThreadLog();
    const told: number[] = [];
    const next = (diskMs: number): undefined => void told.push(diskMs);
    for (const [i, ms] of [7, 3].entries()) {
      const held = backend.hold({ kind: "sync" });
      const writing = log.appendBatch([setOf(i)], { next });
      await held.reached;
      await ports.clock.advance(ms);
      held.release();
      await writing;
    }
    await log.appendBatch([setOf(2)], { next });
    assert.deepEqual(told, [Infinity, 7, 3]);
  });

  test("fails with what can't be encoded, and gives the codec back", async () => {
    const { log, thread } = newThreadLog();
    const bad = { ...largeSet(0, MIB), epoch: 2 };
    await assert.rejects(log.appendBatch([bad]), RangeError);
    assert.deepEqual([thread.lent, thread.released], [1, 1]);
  });
});

test("a job encodes on its store's thread after a resume, too", async () => {
  const thread = new HeldCodecThread();
  const { store } = await openEngine(newMemory(), {}, { codecThread: thread });
  const job = await store.job(JOB);
  await appendDurably(job, "totals", "x".repeat(MIB));
  assert.equal(thread.lent, 1);
  await job.resume();
  await appendDurably(job, "totals", "x".repeat(MIB));
  assert.equal(thread.lent, 2);
  await store.close();
});

test("a job that is fenced gives back the codec of what it had begun", async () => {
  const thread = new HeldCodecThread();
  const objects = newMemory();
  const { store, backend } = await openEngine(objects, {}, { codecThread: thread });
  const job = await store.job(JOB);
  await appendDurably(job, "totals", "first");
  const held = backend.hold({ kind: "sync" });
  // Three that are uploaded one after another, each full.
  const large = Array.from({ length: 3 }, () => {
    append(job, "totals", "x".repeat(11 * MIB));
    return rejectsWith(job.writer("totals").persist(), "fenced");
  });
  await held.reached;
  await turn();
  assert.equal(thread.lent - thread.released, 1);
  const other = await openJobOn(objects, {}, { takeOver: true });
  held.release();
  await Promise.all(large);
  await turn();
  assert.equal(thread.released, thread.lent);
  await other.store.close();
  await store.close();
});

test("a store encodes on its thread, and ends it when it closes, after what still waits", async () => {
  const thread = new HeldCodecThread({ isHeld: true });
  const objects = newMemory();
  const { store } = await openEngine(objects, {}, { codecThread: thread });
  const job = await store.job(JOB);
  const text = "large ".repeat(200_000);
  append(job, "totals", text);
  const closing = store.close();
  await turn();
  assert.deepEqual([thread.waitingCount, thread.isClosed], [1, false]);
  thread.run();
  await closing;
  assert.equal(thread.isClosed, true);
  const { job: again } = await openJobOn(objects);
  assert.deepEqual(await restoreWriter(again, "totals"), [text]);
});
