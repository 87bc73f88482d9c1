import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KIB, MIB } from "../../../src/engine/limits.ts";
import { turn } from "../_engine.ts";
import { SchedulerBench } from "./_scheduler.ts";

const GATHER_MS = 5;

/** After an upload of the tasks 0 and 1, for whose end task 2 has waited: so three are expected. */
async function afterUpload(
  { hasDelay = false, persistSizeThresholdBytes = 8 * MIB } = {},
): Promise<SchedulerBench> {
  const bench = new SchedulerBench({
    persistDelayMs: hasDelay ? 1 : 0,
    persistGatherMs: GATHER_MS,
    persistSizeThresholdBytes,
    inFlightBytesMax: 64 * MIB,
  });
  bench.upload(0);
  bench.upload(1);
  await turn();
  if (hasDelay) await bench.clock.advance(1);
  bench.upload(2);
  await bench.uploader.end();
  assert.deepEqual(bench.uploader.uploads, [[0, 1]]);
  return bench;
}

describe("BatchingStateChangeUploadScheduler, after an upload, with persistGatherMs", () => {
  for (const hasDelay of [false, true]) {
    test(`begins when as many wait as shared it, or waited for its end; a delay: ${hasDelay}`, async () => {
      const bench = await afterUpload({ hasDelay });
      bench.upload(3);
      await turn();
      assert.deepEqual(bench.uploader.uploads.length, 1);
      if (hasDelay) await bench.clock.advance(1);
      assert.deepEqual(bench.uploader.uploads.length, 1);
      bench.upload(4);
      await turn();
      assert.deepEqual(bench.uploader.uploads, [[0, 1], [2, 3, 4]]);
      assert.equal(bench.clock.pendingCount, 0);
    });
  }

  test("begins without those who do not come, so long after the upload", async () => {
    const bench = await afterUpload();
    assert.equal(bench.clock.nextDelayMs, GATHER_MS);
    await bench.clock.advance(GATHER_MS - 1);
    bench.upload(3);
    await turn();
    assert.deepEqual(bench.uploader.uploads.length, 1);
    await bench.clock.advance(1);
    assert.deepEqual(bench.uploader.uploads, [[0, 1], [2, 3]]);
  });

  test("waits for nobody, seven times, after it has waited in vain, and then tries again", async () => {
    const bench = await afterUpload();
    await bench.clock.advance(GATHER_MS);
    assert.deepEqual(bench.uploader.uploads.at(-1), [2]);
    for (let number = 3; number < 10; number++) {
      // It waits for the end of the one before, so that two are expected.
      bench.upload(number);
      await bench.uploader.end();
      assert.deepEqual(bench.uploader.uploads.at(-1), [number]);
    }
    bench.upload(10);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads.at(-1), [9]);
    assert.equal(bench.clock.nextDelayMs, GATHER_MS);
    bench.upload(11);
    await turn();
    assert.deepEqual(bench.uploader.uploads.at(-1), [10, 11]);
  });

  test("keeps its delay when all are there before it is over", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 10, persistGatherMs: 100 });
    bench.upload(0);
    bench.upload(1);
    await bench.clock.advance(10);
    await bench.uploader.end();
    bench.upload(2);
    assert.equal(bench.clock.nextDelayMs, 100);
    await bench.clock.advance(1);
    bench.upload(3);
    assert.equal(bench.clock.nextDelayMs, 9);
    await bench.clock.advance(9);
    assert.deepEqual(bench.uploader.uploads, [[0, 1], [2, 3]]);
    assert.equal(bench.clock.pendingCount, 0);
  });

  test("can't wait for ever", () => {
    for (const persistGatherMs of [-1, NaN, Infinity]) {
      assert.throws(() => new SchedulerBench({ persistGatherMs }), {
        name: "RangeError",
        message: `Cannot make batches with persistGatherMs ${persistGatherMs}: wants 0 or more`,
      });
    }
  });

  test("waits for nobody who did not come in time", async () => {
    const bench = await afterUpload();
    await bench.clock.advance(GATHER_MS);
    await bench.uploader.end();
    await bench.clock.advance(GATHER_MS);
    bench.upload(3);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0, 1], [2], [3]]);
    assert.equal(bench.clock.pendingCount, 0);
  });

  test("lets one who is alone wait for nobody", async () => {
    const bench = new SchedulerBench({ persistGatherMs: GATHER_MS });
    for (const number of [0, 1, 2]) {
      bench.upload(number);
      await turn();
      assert.deepEqual(bench.uploader.uploads.at(-1), [number]);
      await bench.uploader.end();
    }
    assert.equal(bench.clock.pendingCount, 0);
  });

  test("waits for no more than 1.5 MiB with what comes, as large as those that wait", async () => {
    for (const [bytes, count] of [[60 * KIB, 25], [500 * KIB, 3], [MIB, 1], [2 * MIB, 1]]) {
      const bench = new SchedulerBench({
        persistDelayMs: 0,
        persistGatherMs: GATHER_MS,
        persistSizeThresholdBytes: 8 * MIB,
        inFlightBytesMax: 64 * MIB,
      });
      for (let number = 0; number < 32; number++) bench.upload(number);
      await turn();
      await bench.uploader.end();
      const gathered: number[] = [];
      while (bench.uploader.uploads.length === 1) {
        gathered.push(32 + gathered.length);
        bench.upload(gathered.at(-1)!, bytes);
        await turn();
      }
      assert.equal(gathered.length, count, `of ${bytes} bytes`);
      assert.deepEqual(bench.uploader.uploads.at(-1), gathered);
    }
  });

  test("waits neither beyond the threshold, nor for a flush, nor for a drain", async () => {
    const small = await afterUpload({ persistSizeThresholdBytes: 200 });
    small.upload(3);
    await turn();
    assert.deepEqual(small.uploader.uploads.at(-1), [2, 3]);
    const flushed = await afterUpload();
    flushed.scheduler.flush();
    await turn();
    assert.deepEqual(flushed.uploader.uploads.at(-1), [2]);
    const drained = await afterUpload();
    const closing = drained.scheduler.close();
    await turn();
    assert.deepEqual(drained.uploader.uploads.at(-1), [2]);
    await drained.uploader.end();
    await closing;
  });
});
