import assert from "node:assert/strict";
import { test } from "node:test";
import { StopRequest } from "../../src/cli/_stop_request.ts";
import { TestIo } from "./_run.ts";

test("StopRequest takes the same signal within a second for an echo, and ends at once after it", () => {
  let nowMs = 5000;
  const test = new TestIo({ io: { monotonicMs: () => nowMs } });
  const stop = new StopRequest(test.io);
  test.signal("SIGINT");
  test.signal("SIGINT");
  nowMs += 999;
  test.signal("SIGINT");
  assert.deepEqual([stop.signal, test.exits], ["SIGINT", []]);
  nowMs += 1;
  test.signal("SIGINT");
  assert.deepEqual(test.exits, [130]);
});

test("StopRequest ends at once at another signal", () => {
  const test = new TestIo();
  const stop = new StopRequest(test.io);
  test.signal("SIGINT");
  test.signal("SIGTERM");
  assert.deepEqual([stop.signal, test.exits], ["SIGINT", [143]]);
});
