import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { hasSettled, turn } from "../_engine.ts";
import { SchedulerBench } from "./_scheduler.ts";
import { RecordedTask, setOf, setOfBytes } from "./_sets.ts";

function unavailable(): TidemarkError {
  return new TidemarkError("storage-unavailable", "Cannot write: the disk is away");
}

describe("BatchingStateChangeUploadScheduler decides when to upload", () => {
  test("uploads at once, each in its turn, when there is neither delay nor threshold", async () => {
    const bench = new SchedulerBench({ persistSizeThresholdBytes: 0 });
    for (const number of [0, 1, 2]) {
      const recorded = bench.upload(number);
      await turn();
      assert.deepEqual(bench.uploader.uploads.at(-1), [number]);
      await bench.uploader.end();
      assert.equal(recorded.outcome, "complete");
    }
    assert.equal(bench.clock.pendingCount, 0);
  });

  test("waits for the size threshold, and has all in order then", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 3600_000, persistSizeThresholdBytes: 700 });
    for (let number = 0; number < 6; number++) bench.upload(number);
    await turn();
    assert.deepEqual(bench.uploader.uploads, []);
    bench.upload(6);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0, 1, 2, 3, 4, 5, 6]]);
    assert.equal(bench.clock.pendingCount, 0);
  });

  test("waits for the delay, from the first task on", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 50 });
    bench.upload(0);
    assert.equal(bench.clock.nextDelayMs, 50);
    await bench.clock.advance(30);
    bench.upload(1);
    assert.equal(bench.clock.nextDelayMs, 20);
    await bench.clock.advance(19);
    assert.deepEqual(bench.uploader.uploads, []);
    await bench.clock.advance(1);
    assert.deepEqual(bench.uploader.uploads, [[0, 1]]);
  });

  test("has one timer at most, and none when nothing waits", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 50, persistSizeThresholdBytes: 300 });
    bench.upload(0);
    bench.upload(1);
    assert.equal(bench.clock.pendingCount, 1);
    bench.upload(2);
    assert.equal(bench.clock.pendingCount, 0);
    await turn();
    await bench.uploader.end();
    assert.equal(bench.clock.pendingCount, 0);
    bench.upload(3);
    assert.equal(bench.clock.nextDelayMs, 50);
  });

  test("never uploads nothing: a timer that fires in vain, an empty task, a flush", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 50, persistSizeThresholdBytes: 200 });
    const empty = new RecordedTask([]);
    bench.scheduler.upload(empty.task);
    assert.deepEqual(empty.events, [[]]);
    bench.scheduler.flush();
    bench.upload(0);
    // The threshold is reached in the very turn in which the timer fires.
    bench.clock.advanceSync(50);
    bench.upload(1);
    await turn();
    await bench.uploader.end();
    await bench.clock.advance(1000);
    assert.deepEqual(bench.uploader.uploads, [[0, 1]]);
  });

  test("makes one upload of all that a turn hands over, though there is no delay", async () => {
    const bench = new SchedulerBench();
    for (const number of [0, 1, 2]) bench.upload(number);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0, 1, 2]]);
    assert.deepEqual(bench.uploader.calls[0].tasks.length, 3);
  });

  test("gathers while an upload runs, whatever the delay, and goes on at once if it is over", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 10 });
    bench.upload(0);
    await bench.clock.advance(10);
    bench.upload(1);
    await bench.clock.advance(7);
    bench.upload(2);
    await bench.clock.advance(60);
    bench.upload(3);
    assert.deepEqual(bench.uploader.uploads, [[0]]);
    assert.equal(bench.clock.pendingCount, 0);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1, 2, 3]]);
  });

  test("keeps the delay of what came while an upload was running", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 10 });
    bench.upload(0);
    await bench.clock.advance(10);
    bench.upload(1);
    await bench.clock.advance(4);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0]]);
    assert.equal(bench.clock.nextDelayMs, 6);
    await bench.clock.advance(6);
    assert.deepEqual(bench.uploader.uploads, [[0], [1]]);
  });

  test("ends a batch at the threshold, and has the rest in the next", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 10, persistSizeThresholdBytes: 300 });
    for (let number = 0; number < 7; number++) bench.upload(number);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0, 1, 2]]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads[1], [3, 4, 5]);
    await bench.uploader.end();
    assert.equal(bench.uploader.uploads.length, 2);
    await bench.clock.advance(10);
    assert.deepEqual(bench.uploader.uploads[2], [6]);
  });

  test("tells the uploader what comes next, once nothing can join it", async () => {
    const bench = new SchedulerBench({ persistSizeThresholdBytes: 300 });
    bench.upload(0);
    await turn();
    const [call] = bench.uploader.calls;
    assert.equal(call.next(), undefined);
    for (let number = 1; number < 3; number++) bench.upload(number);
    assert.equal(call.next(), undefined);
    for (let number = 3; number < 6; number++) bench.upload(number);
    assert.deepEqual(call.next(), [1, 2, 3]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1, 2, 3]]);
    assert.equal(bench.uploader.calls[1].next(), undefined);
    await bench.scheduler.close({ mode: "abort", reason: new Error("over") });
  });

  test("uploads what waits when it is flushed, and not what comes later", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 10, persistSizeThresholdBytes: 150 });
    bench.upload(0, 100);
    bench.scheduler.flush();
    assert.ok(bench.scheduler.isUploading);
    await turn();
    bench.upload(1, 100);
    bench.scheduler.flush();
    await bench.uploader.end();
    bench.upload(2, 100);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1]]);
    assert.equal(bench.scheduler.isUploading, false);
    assert.equal(bench.clock.nextDelayMs, 10);
  });

  test("refuses a threshold that could never be reached, and names both values", () => {
    assert.throws(
      () => new SchedulerBench({ persistSizeThresholdBytes: 101, inFlightBytesMax: 100 }),
      { name: "RangeError", message: /persistSizeThresholdBytes 101.*inFlightBytesMax.* 100/ },
    );
    assert.throws(() => new SchedulerBench({ persistDelayMs: -1 }), {
      name: "RangeError",
      message: /persistDelayMs -1/,
    });
  });
});

describe("BatchingStateChangeUploadScheduler runs uploads", () => {
  test("one at a time, if the uploader can't overlap", async () => {
    const bench = new SchedulerBench({ persistSizeThresholdBytes: 100 });
    for (let number = 0; number < 3; number++) bench.upload(number);
    await turn();
    await bench.uploader.end();
    await bench.uploader.end();
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1], [2]]);
    assert.equal(bench.uploader.runningMax, 1);
  });

  test("up to the executor's bound, if the uploader can overlap", async () => {
    const bench = new SchedulerBench({
      persistSizeThresholdBytes: 100,
      canOverlap: true,
      attemptsInFlightMax: 2,
    });
    const tasks = [0, 1, 2, 3].map((number) => bench.upload(number));
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0], [1]]);
    await bench.uploader.endCall(1);
    assert.deepEqual(bench.uploader.uploads, [[0], [1], [2]]);
    assert.deepEqual(tasks.map(({ outcome }) => outcome), ["none", "complete", "none", "none"]);
    for (const call of [0, 2, 3]) await bench.uploader.endCall(call);
    assert.deepEqual(tasks.map(({ outcome }) => outcome), Array(4).fill("complete"));
    assert.equal(bench.uploader.runningMax, 2);
  });

  test("fails the tasks of a batch that failed, and nothing after it", async () => {
    const bench = new SchedulerBench();
    const first = [0, 1].map((number) => bench.upload(number));
    await turn();
    const second = bench.upload(2);
    // Not an error of the storage: it is no reason to stop either.
    const error = new TypeError("surprise");
    await bench.uploader.end(error);
    assert.deepEqual(first.map(({ events }) => events), [
      [{ failed: [0], error }],
      [{ failed: [1], error }],
    ]);
    await bench.uploader.end();
    assert.equal(second.outcome, "complete");
    const third = bench.upload(3);
    await turn();
    await bench.uploader.end();
    assert.equal(third.outcome, "complete");
  });

  test("fails a task alone that was refused for its own data, or that has no answer", async () => {
    const bench = new SchedulerBench();
    const tasks = [0, 1, 2].map((number) => bench.upload(number));
    await turn();
    const [call] = bench.uploader.calls;
    const successful = new Map([...call.result.successful].slice(0, 1));
    call.resolve({ successful, failed: new Map([[tasks[1].task, new Error("too large")]]) });
    await turn();
    assert.deepEqual(tasks.map(({ outcome }) => outcome), ["complete", "failed", "failed"]);
    assert.equal(tasks[1].error?.message, "too large");
    assert.ok(tasks[2].error instanceof TidemarkError && tasks[2].error.code === "internal");
  });

  test("tells every owner, though one throws", async () => {
    const bench = new SchedulerBench();
    const thrown = new Error("owner");
    bench.uploadWith(0, () => {
      throw thrown;
    });
    const other = bench.upload(1);
    await turn();
    await bench.uploader.end();
    assert.equal(other.outcome, "complete");
    assert.equal(bench.logger.records.find(({ level }) => level === "error")?.fields.error, thrown);
    await bench.scheduler.close();
  });
});

describe("BatchingStateChangeUploadScheduler tries again", () => {
  test("after failures of the storage: the task hears of the success alone", async () => {
    const bench = new SchedulerBench({ retryPolicy: RetryPolicy.fixed(5, 0, 1) });
    const recorded = bench.upload(0);
    await turn();
    for (let failure = 0; failure < 4; failure++) {
      await bench.uploader.end(unavailable());
      await bench.clock.advance(1);
    }
    await bench.uploader.end();
    assert.equal(recorded.outcome, "complete");
    assert.equal(recorded.events.length, 1);
    assert.deepEqual(bench.uploader.uploads, Array(5).fill([0]));
  });

  test("holds the bytes of a task as long as it is tried", async () => {
    const throttle = new UploadThrottle(1000);
    const bench = new SchedulerBench({ throttle, retryPolicy: RetryPolicy.fixed(2, 0, 1) });
    bench.upload(0);
    await turn();
    await bench.uploader.end(unavailable());
    assert.equal(throttle.bytes, 100);
    await bench.clock.advance(1);
    await bench.uploader.end(unavailable());
    assert.equal(throttle.bytes, 0);
  });

  test("fails a task whose upload took too long, with exactly its numbers; it may be there", async () => {
    for (const canOverlap of [false, true]) {
      const retryPolicy = RetryPolicy.fixed(1, 1, 0);
      const bench = new SchedulerBench({ canOverlap, hangs: true, retryPolicy });
      const recorded = new RecordedTask([setOf(3), setOf(4)]);
      bench.scheduler.upload(recorded.task);
      await turn();
      await bench.clock.advance(1);
      const [event] = recorded.events;
      assert.ok("failed" in event);
      assert.deepEqual(event.failed, [3, 4]);
      assert.ok(event.error instanceof TidemarkError);
      assert.equal(event.error.code, "storage-unavailable");
      assert.equal(event.error.outcome, "unknown");
      assert.match(event.error.message, /longer than 1 ms/);
    }
  });

  test("beside an upload that took too long, and takes whichever is done first", async () => {
    const bench = new SchedulerBench({
      canOverlap: true,
      retryPolicy: RetryPolicy.fixed(3, 10, 0),
    });
    const recorded = bench.upload(0);
    await turn();
    await bench.clock.advance(10);
    assert.equal(bench.uploader.running, 2);
    const [first, second] = bench.uploader.calls;
    await bench.uploader.endCall(0);
    assert.deepEqual(recorded.events, [first.result.successful.get(recorded.task)]);
    assert.ok(second.signal?.aborted);
  });

  test("hands over what came too late, once", async () => {
    const bench = new SchedulerBench({
      canOverlap: true,
      hangs: true,
      retryPolicy: RetryPolicy.fixed(3, 10, 0),
    });
    const recorded = bench.upload(0);
    await turn();
    await bench.clock.advance(10);
    await bench.uploader.endCall(1);
    await bench.uploader.endCall(0);
    const [first, second] = bench.uploader.calls;
    assert.deepEqual(recorded.events, [second.result.successful.get(recorded.task)]);
    assert.deepEqual(bench.uploader.discarded.map(({ successful }) => [...successful]), [
      [...first.result.successful],
    ]);
  });

  test("gives an upload that can't overlap up first, and ignores its late success", async () => {
    const bench = new SchedulerBench({ hangs: true, retryPolicy: RetryPolicy.fixed(3, 10, 0) });
    const recorded = bench.upload(0);
    await turn();
    await bench.clock.advance(10);
    const [first] = bench.uploader.calls;
    assert.ok(first.signal?.aborted);
    // It pays no heed, so the next has to wait for it.
    assert.equal(bench.uploader.calls.length, 1);
    await bench.uploader.endCall(0);
    assert.equal(bench.uploader.calls.length, 2);
    await bench.uploader.endCall(1);
    assert.deepEqual(recorded.events, [
      bench.uploader.calls[1].result.successful.get(recorded.task),
    ]);
    assert.deepEqual(bench.uploader.discarded, []);
    assert.equal(bench.uploader.runningMax, 1);
  });

  test("never calls an uploader that can't overlap twice at once, hung calls included", async () => {
    const bench = new SchedulerBench({ hangs: true, retryPolicy: RetryPolicy.fixed(2, 10, 0) });
    const tasks = [bench.upload(0)];
    await turn();
    await bench.clock.advance(20);
    tasks.push(bench.upload(1));
    await turn();
    await bench.clock.advance(20);
    assert.deepEqual(tasks.map(({ outcome }) => outcome), ["failed", "failed"]);
    tasks.push(bench.upload(2));
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0]]);
    await bench.uploader.endCall(0);
    assert.deepEqual(bench.uploader.uploads, [[0], [2]]);
    await bench.uploader.endCall(1);
    assert.equal(tasks[2].outcome, "complete");
  });

  test("never runs more attempts than the bound, hung ones included", async () => {
    const bench = new SchedulerBench({
      canOverlap: true,
      hangs: true,
      attemptsInFlightMax: 2,
      persistSizeThresholdBytes: 100,
      retryPolicy: RetryPolicy.fixed(2, 10, 0),
    });
    const tasks = [0, 1, 2, 3].map((number) => bench.upload(number));
    await turn();
    await bench.clock.advance(100);
    assert.equal(bench.uploader.runningMax, 2);
    assert.deepEqual(tasks.map(({ outcome }) => outcome), Array(4).fill("failed"));
    assert.equal(bench.metrics.gaugeValue("tidemark_upload_attempts_in_flight"), 2);
    await bench.uploader.endCall(0);
    const last = bench.upload(4);
    await turn();
    await bench.uploader.endCall(2);
    assert.equal(last.outcome, "complete");
  });
});

describe("BatchingStateChangeUploadScheduler pushes back", () => {
  test("a task uses the limit up with all its sets; the next waits until it is let go", async () => {
    const bench = new SchedulerBench({ inFlightBytesMax: 10_000 });
    const { availability } = bench.scheduler;
    assert.ok(availability.isAvailable());
    const first = new RecordedTask([setOfBytes(0, 5000), setOfBytes(1, 5000)]);
    bench.scheduler.upload(first.task);
    assert.equal(availability.isAvailable(), false);
    const second = bench.upload(2);
    const wait = availability.whenAvailable();
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0, 1]]);
    assert.equal(await hasSettled(wait), false);
    await bench.uploader.end();
    assert.equal(first.outcome, "complete");
    assert.deepEqual(bench.uploader.uploads, [[0, 1], [2]]);
    await wait;
    await bench.uploader.end();
    assert.equal(second.outcome, "complete");
    assert.equal(bench.metrics.gaugeValue("tidemark_in_flight_bytes"), 0);
  });

  test("takes a task above the limit when nothing else is held; what waits takes nothing", async () => {
    const bench = new SchedulerBench({ inFlightBytesMax: 10_000 });
    bench.upload(0, 10_001);
    const waiting = bench.upload(1);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0]]);
    assert.equal(bench.metrics.gaugeValue("tidemark_in_flight_bytes"), 10_001);
    const reason = new TidemarkError("closed", "Job orders is closed: open it again");
    await bench.scheduler.close({ mode: "abort", reason });
    assert.equal(waiting.error, reason);
    assert.deepEqual(bench.uploader.uploads, [[0]]);
  });

  test("serves tasks that wait for room in order, though a later one would fit", async () => {
    const bench = new SchedulerBench({ inFlightBytesMax: 1000 });
    bench.upload(0, 600);
    await turn();
    bench.upload(1, 900);
    bench.upload(2, 100);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0]]);
    await bench.uploader.end();
    assert.deepEqual(bench.uploader.uploads, [[0], [1, 2]]);
  });

  test("does not let what waits for the delay keep the room that another wants", async () => {
    const bench = new SchedulerBench({ persistDelayMs: 3600_000, inFlightBytesMax: 1000 });
    bench.upload(0, 600);
    bench.upload(1, 600);
    await turn();
    assert.deepEqual(bench.uploader.uploads, [[0]]);
  });

  test("lets capacity go before the owner is told, so that the owner can go on", async () => {
    const throttle = new UploadThrottle(100);
    const bench = new SchedulerBench({ throttle, persistSizeThresholdBytes: 100 });
    const bytesSeen: number[] = [];
    const idleSeen: boolean[] = [];
    for (const [number, error] of [[0, undefined], [1, new Error("disk")]] as const) {
      bench.uploadWith(number, () => {
        bytesSeen.push(throttle.bytes);
        idleSeen.push(!bench.scheduler.isUploading);
      });
      await turn();
      await bench.uploader.end(error);
    }
    assert.deepEqual(bytesSeen, [0, 0]);
    assert.deepEqual(idleSeen, [true, true]);
  });

  test("counts what was admitted already neither twice nor out", async () => {
    const throttle = new UploadThrottle(100);
    const bench = new SchedulerBench({ throttle });
    assert.ok(throttle.tryAdmit(100));
    const recorded = bench.upload(0, 100, { isAdmitted: true });
    await turn();
    await bench.uploader.end();
    assert.equal(recorded.outcome, "complete");
    assert.equal(throttle.bytes, 100);
  });
});
