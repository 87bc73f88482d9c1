import assert from "node:assert/strict";
import { test } from "node:test";
import { VERSION } from "../../src/engine/version.ts";
import { PrometheusMetrics } from "../../src/http/mod.ts";
import { observeProcess } from "../../src/runtime/process_metrics.ts";
import { ManualClock } from "../doubles/manual_clock.ts";

test("observeProcess counts what every process has, until it is closed", async () => {
  const metrics = new PrometheusMetrics();
  const clock = new ManualClock();
  const observed = observeProcess(metrics, clock);
  await clock.advance(750);
  const text = metrics.render();
  assert.match(text, new RegExp(`^tidemark_info\\{.*version="${VERSION}"\\} 1$`, "m"));
  assert.match(text, /^tidemark_uptime_seconds [\d.]+$/m);
  assert.match(text, /^tidemark_resident_memory_bytes [1-9]\d+$/m);
  assert.match(text, /^tidemark_event_loop_delay_seconds_count 3$/m);
  observed.close();
  assert.equal(clock.pendingCount, 0);
  assert.doesNotMatch(metrics.render(), /uptime/);
});
