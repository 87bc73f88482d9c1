import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MIB } from "../../../src/engine/limits.ts";
import { turn } from "../_engine.ts";
import { SchedulerBench } from "./_scheduler.ts";

/** While task 0 is uploaded. */
async function uploading(
  options: { readonly persistDelayMs?: number; readonly persistSizeThresholdBytes: number },
): Promise<SchedulerBench> {
  const bench = new SchedulerBench({ ...options, inFlightBytesMax: 16 * MIB });
  bench.upload(0);
  await bench.clock.advance(options.persistDelayMs ?? 0);
  await turn();
  assert.deepEqual(bench.uploader.uploads, [[0]]);
  return bench;
}

describe("BatchingStateChangeUploadScheduler, asked what comes next", () => {
  test("closes a batch of 1 MiB that it tells of: what comes later goes into another one", async () => {
    const bench = await uploading({ persistSizeThresholdBytes: 8 * MIB });
    const [call] = bench.uploader.calls;
    bench.upload(1, MIB / 2);
    assert.equal(call.next(), undefined);
    bench.upload(2, MIB / 2);
    assert.deepEqual(call.next(), [1, 2]);
    bench.upload(3, MIB);
    assert.deepEqual(call.next(), [1, 2]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1, 2]]);
    assert.deepEqual(bench.uploader.calls[1].next(), [3]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads[2], [3]);
    await bench.uploader.end();
  });

  test("closes one only if to encode it takes longer than the disk, unless it is full", async () => {
    const bench = await uploading({ persistSizeThresholdBytes: 4 * MIB });
    const [call] = bench.uploader.calls;
    bench.upload(1, 2 * MIB);
    for (const diskMs of [3.1, 30, Infinity]) assert.equal(call.next(diskMs), undefined);
    bench.upload(2, MIB);
    assert.equal(call.next(4.6), undefined);
    bench.upload(3, MIB);
    bench.upload(4, MIB);
    assert.deepEqual(call.next(Infinity), [1, 2, 3]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.calls[1].next(1.5), [4]);
    await bench.uploader.end();
    await bench.uploader.end();
  });

  test("tells of no batch whose delay is not over", async () => {
    const bench = await uploading({ persistDelayMs: 10, persistSizeThresholdBytes: 8 * MIB });
    const [call] = bench.uploader.calls;
    bench.upload(1, MIB);
    assert.equal(call.next(), undefined);
    await bench.clock.advance(10);
    assert.deepEqual(call.next(), [1]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1]]);
    await bench.uploader.end();
  });

  test("goes on with a batch that it closed when the upload before it fails", async () => {
    const bench = await uploading({ persistSizeThresholdBytes: 8 * MIB });
    bench.upload(1, MIB);
    assert.deepEqual(bench.uploader.calls[0].next(), [1]);
    bench.upload(2, MIB);
    await bench.uploader.end(new Error("no"));
    assert.deepEqual(bench.uploader.uploads, [[0], [1]]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads[2], [2]);
    await bench.uploader.end();
  });

  test("forgets a batch that it closed with what it gives up", async () => {
    const bench = await uploading({ persistSizeThresholdBytes: 100 });
    const closed = bench.upload(1);
    assert.deepEqual(bench.uploader.calls[0].next(), [1]);
    await bench.scheduler.close({ mode: "abort", reason: new Error("over") });
    assert.equal(closed.outcome, "failed");
    assert.equal(bench.uploader.calls[0].next(), undefined);
  });
});
