import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "./manual_clock.ts";

test("ManualClock calls what is due in order, also what was scheduled on the way", async () => {
  const clock = new ManualClock(1000);
  const calls: string[] = [];
  const note = (name: string) => () => calls.push(`${name} at ${clock.nowMs()}`);
  clock.schedule(20, note("second"));
  clock.schedule(10, () => {
    note("first")();
    clock.schedule(5, note("between"));
    clock.schedule(100, note("late"));
  });
  clock.schedule(20, note("third"));
  clock.schedule(15, note("cancelled")).cancel();
  assert.equal(clock.nextDelayMs, 10);
  await clock.advance(50);
  assert.deepEqual(calls, [
    "first at 1010",
    "between at 1015",
    "second at 1020",
    "third at 1020",
  ]);
  assert.equal(clock.nowMs(), 1050);
  assert.equal(clock.monotonicMs(), 50);
  assert.equal(clock.pendingCount, 1);
  clock.advanceSync(60);
  assert.equal(calls.at(-1), "late at 1110");
  assert.equal(clock.nextDelayMs, undefined);
});

test("ManualClock's wall clock can be set without moving its timers", () => {
  const clock = new ManualClock();
  let isCalled = false;
  clock.schedule(10, () => {
    isCalled = true;
  });
  clock.setWallClock(5);
  assert.equal(clock.nowMs(), 5);
  assert.equal(clock.monotonicMs(), 0);
  assert.equal(isCalled, false);
});
