import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { turn } from "../_engine.ts";
import { SchedulerBench } from "./_scheduler.ts";

function unavailable(): TidemarkError {
  return new TidemarkError("storage-unavailable", "Cannot write: the disk is away");
}

describe("BatchingStateChangeUploadScheduler counts", () => {
  test("the tasks of each batch, once, whatever the attempts", async () => {
    const bench = new SchedulerBench({
      persistDelayMs: 5,
      retryPolicy: RetryPolicy.fixed(2, 0, 0),
    });
    for (let round = 0; round < 2; round++) {
      for (let writer = 0; writer < 5; writer++) bench.upload(writer);
      await bench.clock.advance(5);
      await bench.uploader.end(unavailable());
      await bench.uploader.end();
    }
    assert.deepEqual(bench.metrics.values("tidemark_upload_batch_tasks"), [5, 5]);
  });

  test("which attempt won", async () => {
    const bench = new SchedulerBench({ retryPolicy: RetryPolicy.fixed(3, 0, 0) });
    for (let round = 0; round < 5; round++) {
      bench.upload(round);
      await turn();
      await bench.uploader.end(unavailable());
      await bench.uploader.end(unavailable());
      await bench.uploader.end();
    }
    assert.deepEqual(bench.metrics.values("tidemark_upload_winning_attempt"), [3, 3, 3, 3, 3]);
    assert.equal(bench.metrics.count("tidemark_upload_failures_total"), 10);
    assert.equal(bench.metrics.count("tidemark_upload_timeouts_total"), 0);
  });

  test("all attempts until one won, those that took too long included", async () => {
    const bench = new SchedulerBench({
      canOverlap: true,
      retryPolicy: RetryPolicy.fixed(3, 50, 0),
    });
    bench.upload(0);
    await turn();
    await bench.clock.advance(50);
    await bench.uploader.endCall(1, unavailable());
    assert.equal(bench.uploader.calls.length, 3);
    await bench.uploader.endCall(0);
    assert.deepEqual(bench.metrics.values("tidemark_upload_winning_attempt"), [1]);
    assert.deepEqual(bench.metrics.values("tidemark_upload_attempts"), [3]);
    assert.equal(bench.metrics.count("tidemark_upload_timeouts_total"), 1);
    assert.equal(bench.metrics.count("tidemark_upload_failures_total"), 1);
  });

  test("nothing won when nothing did", async () => {
    const bench = new SchedulerBench();
    bench.upload(0);
    await turn();
    await bench.uploader.end(new Error("disk"));
    assert.deepEqual(bench.metrics.values("tidemark_upload_winning_attempt"), []);
    assert.deepEqual(bench.metrics.values("tidemark_upload_attempts"), []);
    assert.equal(bench.metrics.count("tidemark_upload_failures_total"), 1);
  });

  test("the tasks that wait, and no longer when they are taken", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 5, inFlightBytesMax: 1100 });
    const queued = () => bench.metrics.gaugeValue("tidemark_upload_queue_tasks");
    for (let number = 0; number < 11; number++) bench.upload(number, 50);
    assert.equal(queued(), 11);
    await bench.clock.advance(5);
    assert.equal(queued(), 0);
  });

  test("how long a task waited for room", async () => {
    const bench = new SchedulerBench({ inFlightBytesMax: 1000 });
    bench.upload(0, 1000);
    bench.upload(1, 1000);
    await bench.clock.advance(250);
    await bench.uploader.end();
    assert.deepEqual(bench.metrics.values("tidemark_throttle_wait_seconds"), [0.25]);
  });

  test("how long whoever asked for availability waited for it", async () => {
    const bench = new SchedulerBench({ inFlightBytesMax: 1000 });
    bench.upload(0, 1000);
    const available = bench.scheduler.availability.whenAvailable();
    await bench.clock.advance(500);
    await bench.uploader.end();
    await available;
    await bench.scheduler.availability.whenAvailable();
    assert.deepEqual(bench.metrics.values("tidemark_throttle_wait_seconds"), [0.5]);
  });

  test("nothing any more when it is closed", async () => {
    const bench = new SchedulerBench();
    await bench.scheduler.close();
    assert.equal(bench.metrics.gaugeValue("tidemark_upload_queue_tasks"), undefined);
    assert.equal(bench.metrics.gaugeValue("tidemark_in_flight_bytes"), undefined);
    assert.equal(bench.metrics.gaugeValue("tidemark_upload_attempts_in_flight"), undefined);
  });
});
