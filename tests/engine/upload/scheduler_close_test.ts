import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/engine/errors.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { hasSettled, turn } from "../_engine.ts";
import { SchedulerBench } from "./_scheduler.ts";
import type { RecordedTask } from "./_sets.ts";

describe("BatchingStateChangeUploadScheduler that drains", () => {
  test("uploads what waits without delay, retries, then closes all that it has", async () => {
    const bench = new SchedulerBench({
      persistDelayMs: 3600_000,
      inFlightBytesMax: 1000,
      retryPolicy: RetryPolicy.fixed(2, 10, 0),
    });
    const tasks = [bench.upload(0, 800), bench.upload(1, 800)];
    const closing = bench.scheduler.close();
    await turn();
    await bench.clock.advance(10);
    assert.deepEqual(bench.uploader.uploads, [[0], [0]]);
    await bench.uploader.endCall(1);
    assert.equal(await hasSettled(closing), false);
    assert.equal(bench.uploader.closes, 0);
    await bench.uploader.endCall(2);
    await closing;
    assert.deepEqual(tasks.map(({ outcome }) => outcome), ["complete", "complete"]);
    assert.equal(bench.uploader.closes, 1);
    assert.equal(bench.clock.pendingCount, 0);
    await assert.rejects(
      bench.executor.execute(() => Promise.resolve(0), RetryPolicy.none()),
      (error) => hasCode(error, "closed"),
    );
  });

  test("refuses what comes then, and closes once however often it is asked", async () => {
    const bench = new SchedulerBench();
    const closing = [bench.scheduler.close(), bench.scheduler.close({ mode: "drain" })];
    const late = bench.upload(0);
    assert.ok(hasCode(late.error, "closed"));
    await Promise.all(closing);
    await bench.scheduler[Symbol.asyncDispose]();
    assert.equal(bench.uploader.closes, 1);
    assert.deepEqual(bench.uploader.uploads, []);
  });

  test("waits for no upload that failed", async () => {
    const bench = new SchedulerBench();
    const recorded = bench.upload(0);
    const closing = bench.scheduler.close();
    await turn();
    await bench.uploader.end(new Error("disk"));
    await closing;
    assert.equal(recorded.outcome, "failed");
  });

  test("fails with what the uploader's close fails with", async () => {
    const bench = new SchedulerBench();
    const error = new Error("close");
    bench.uploader.close = () => Promise.reject(error);
    await assert.rejects(bench.scheduler.close(), error);
  });

  test("ends when it is aborted, and leaves the uploader alone then", async () => {
    const bench = new SchedulerBench({ hangs: true });
    const recorded = bench.upload(0);
    await turn();
    const closing = bench.scheduler.close();
    assert.equal(await hasSettled(closing), false);
    const reason = new Error("fenced");
    await bench.scheduler.close({ mode: "abort", reason });
    await closing;
    assert.deepEqual(recorded.events, [{ failed: [0], error: reason }]);
    assert.equal(bench.uploader.closes, 0);
  });
});

describe("BatchingStateChangeUploadScheduler that is aborted", () => {
  const reason = new Error("fenced");

  test("fails at once, each once: what runs, is due again, hangs, waits for time or room", async () => {
    const throttle = new UploadThrottle(1000);
    const bench = new SchedulerBench({
      throttle,
      canOverlap: true,
      hangs: true,
      persistDelayMs: 5,
      persistSizeThresholdBytes: 200,
      retryPolicy: RetryPolicy.fixed(3, 10, 3600_000),
    });
    const tasks = [bench.upload(0, 200)];
    await turn();
    await bench.clock.advance(10);
    tasks.push(bench.upload(1, 200));
    await turn();
    await bench.uploader.endCall(2, new Error("disk"));
    assert.equal(tasks[1].outcome, "failed");
    tasks.push(bench.upload(2, 100), bench.upload(3, 2000), bench.upload(4, 100));
    await bench.scheduler.close({ mode: "abort", reason });
    tasks.push(bench.upload(5));
    await bench.clock.advance(3600_000);
    for (const call of [0, 1]) await bench.uploader.endCall(call);
    for (const task of [0, 2, 3, 4, 5].map((number) => tasks[number])) {
      assert.equal(task.error, reason);
      assert.equal(task.events.length, 1);
    }
    assert.equal(throttle.bytes, 0);
    assert.equal(throttle.waitingCount, 0);
    assert.equal(bench.clock.pendingCount, 0);
    assert.equal(bench.scheduler.isUploading, false);
    await bench.scheduler.whenIdle();
  });

  test("tells what runs to stop, and hands over what is written all the same", async () => {
    const bench = new SchedulerBench({ canOverlap: true, hangs: true });
    bench.upload(0);
    await turn();
    await bench.scheduler.close({ mode: "abort", reason });
    const [call] = bench.uploader.calls;
    assert.equal(call.signal?.reason, reason);
    await bench.uploader.end();
    assert.equal(bench.uploader.discarded.length, 1);
  });

  test("either completes a task or hands its upload over, whenever the success comes", async () => {
    let completed = 0;
    for (let ticks = 0; ticks < 20; ticks++) {
      const bench = new SchedulerBench({ canOverlap: true });
      const recorded = bench.upload(0);
      await turn();
      const [call] = bench.uploader.calls;
      call.resolve(call.result);
      for (let i = 0; i < ticks; i++) await undefined;
      await bench.scheduler.close({ mode: "abort", reason });
      await turn();
      const isComplete = recorded.outcome === "complete";
      assert.equal(bench.uploader.discarded.length, isComplete ? 0 : 1, `after ${ticks} ticks`);
      if (isComplete) completed++;
    }
    assert.ok(completed > 0 && completed < 20);
  });

  test("logs what can't be discarded", async () => {
    const bench = new SchedulerBench({ canOverlap: true, hangs: true });
    const error = new Error("discard");
    bench.uploader.discard = () => {
      throw error;
    };
    bench.upload(0);
    await turn();
    await bench.scheduler.close({ mode: "abort", reason });
    await bench.uploader.end();
    assert.equal(bench.logger.records.at(-1)?.fields.error, error);
  });

  test("keeps telling newcomers why, the last reason given", async () => {
    const bench = new SchedulerBench();
    await bench.scheduler.close({ mode: "abort", reason });
    assert.equal(bench.upload(0).error, reason);
    const later = new Error("closed");
    await bench.scheduler.close({ mode: "abort", reason: later });
    assert.equal(bench.upload(1).error, later);
    assert.deepEqual(bench.uploader.uploads, []);
  });

  test("stays aborted when an owner uploads again while it is told", async () => {
    const bench = new SchedulerBench();
    let again: RecordedTask | undefined;
    const eager = bench.uploadWith(0, () => again = bench.upload(1));
    await turn();
    await bench.scheduler.close({ mode: "abort", reason });
    await turn();
    assert.deepEqual([eager.error, again?.error], [reason, reason]);
    assert.deepEqual(bench.uploader.uploads, [[0]]);
  });
});

describe("BatchingStateChangeUploadScheduler is idle", () => {
  test("when nothing waits, runs, or is tried again", async () => {
    const bench = new SchedulerBench({
      persistDelayMs: 5,
      inFlightBytesMax: 1000,
      retryPolicy: RetryPolicy.fixed(2, 10, 0),
    });
    await bench.scheduler.whenIdle();
    bench.upload(0, 600);
    bench.upload(1, 600);
    const idle = bench.scheduler.whenIdle();
    await bench.clock.advance(5);
    await bench.clock.advance(10);
    await bench.uploader.endCall(1);
    assert.equal(await hasSettled(idle), false);
    await bench.clock.advance(5);
    await bench.uploader.endCall(2);
    await idle;
  });

  test("but is not uploading while tasks only wait for the delay", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 5 });
    bench.upload(0);
    assert.equal(bench.scheduler.isUploading, false);
    await bench.clock.advance(5);
    assert.equal(bench.scheduler.isUploading, true);
    await bench.uploader.end();
    assert.equal(bench.scheduler.isUploading, false);
  });
});
