import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { BoundedDeleter } from "../../../src/engine/upload/bounded_deleter.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { hasSettled, keysBelow, newMemory, Surroundings, turn } from "../_engine.ts";

interface DeleterBench {
  readonly deleter: BoundedDeleter;
  readonly backend: FaultyBackend;
  readonly metrics: RecordingMetrics;
  readonly ports: Surroundings;
}

/** A deleter of at most two objects at a time, with some objects. */
async function newBench(
  keys: readonly string[],
  retryPolicy: RetryPolicy = RetryPolicy.fixed(3, 1000, 100),
): Promise<DeleterBench> {
  const ports = new Surroundings();
  const metrics = new RecordingMetrics();
  const backend = new FaultyBackend(newMemory());
  for (const key of keys) await backend.put(key, new Uint8Array(1));
  const components = { ...ports, backend, metrics: new UploadMetrics(metrics, "orders") };
  const deleter = new BoundedDeleter(components, { concurrencyMax: 2, retryPolicy });
  return { deleter, backend, metrics, ports };
}

describe("BoundedDeleter", () => {
  test("deletes what it is handed, and what is not there is fine", async () => {
    const { deleter, backend, metrics } = await newBench(["a", "b", "c"]);
    deleter.discard(["a", "missing"]);
    deleter.discard(["b"]);
    deleter.discard([]);
    await deleter.whenIdle();
    assert.deepEqual(await keysBelow(backend), ["c"]);
    assert.equal(metrics.count("tidemark_discards_total"), 3);
    assert.equal(metrics.count("tidemark_discard_failures_total"), 0);
  });

  test("deletes at most so many at once, each once, in order", async () => {
    const { deleter, backend, metrics } = await newBench(["a", "b", "c", "d"]);
    const held = backend.hold({ kind: "delete", times: 2 });
    deleter.discard(["a", "b", "c", "d", "c", "a"]);
    await turn();
    assert.deepEqual(backend.keysOf("delete"), ["a", "b"]);
    assert.equal(metrics.gaugeValue("tidemark_discard_queue_files"), 2);
    assert.equal(await hasSettled(deleter.whenIdle()), false);
    held.release();
    await deleter.whenIdle();
    assert.deepEqual(backend.keysOf("delete"), ["a", "b", "c", "d"]);
    assert.deepEqual(await keysBelow(backend), []);
    assert.equal(metrics.gaugeValue("tidemark_discard_queue_files"), 0);
  });

  test("tries again what failed, and counts each failure", async () => {
    const { deleter, backend, metrics, ports } = await newBench(["a", "b"]);
    backend.fail({ kind: "delete", key: /a/, times: 2 });
    deleter.discard(["a", "b"]);
    await turn();
    assert.deepEqual(await keysBelow(backend), ["a"]);
    await ports.clock.advance(200);
    await deleter.whenIdle();
    assert.deepEqual(await keysBelow(backend), []);
    assert.equal(metrics.count("tidemark_discard_failures_total"), 2);
    assert.equal(metrics.count("tidemark_discards_total"), 2);
    assert.deepEqual(ports.logger.records, []);
  });

  test("gives up what fails for good, says so, and goes on with the next", async () => {
    const { deleter, backend, metrics, ports } = await newBench(["a", "b", "c"]);
    backend.fail({
      kind: "delete",
      key: /a/,
      error: new TidemarkError("storage-denied", "Not allowed"),
    });
    deleter.discard(["a", "b", "c"]);
    await deleter.whenIdle();
    assert.deepEqual(await keysBelow(backend), ["a"]);
    assert.equal(metrics.count("tidemark_discard_failures_total"), 1);
    assert.deepEqual(ports.logger.records.map(({ message, fields }) => [message, fields.key]), [
      ["Cannot delete a file", "a"],
    ]);
    deleter.discard(["a"]);
    await deleter.whenIdle();
    assert.deepEqual(await keysBelow(backend), []);
  });

  test("does not wait for ever for a delete that hangs", async () => {
    const { deleter, backend, metrics, ports } = await newBench(["a"]);
    backend.hold({ kind: "delete", times: 3 });
    deleter.discard(["a"]);
    await ports.clock.advance(10_000);
    await deleter.whenIdle();
    assert.equal(metrics.count("tidemark_discard_failures_total"), 3);
  });

  test("forgets what waits when it is closed, and takes nothing more", async () => {
    const { deleter, backend, ports } = await newBench(["a", "b", "c"]);
    backend.hold({ kind: "delete", times: 2 });
    deleter.discard(["a", "b", "c"]);
    await turn();
    await deleter.close();
    await deleter.close();
    deleter.discard(["c"]);
    await deleter.whenIdle();
    assert.deepEqual(backend.keysOf("delete"), ["a", "b"]);
    assert.deepEqual(ports.logger.records, []);
  });

  test("retries by default for two minutes", async () => {
    const { backend, metrics, ports } = await newBench(["a"]);
    const components = { ...ports, backend, metrics: new UploadMetrics(metrics, "orders") };
    const deleter = new BoundedDeleter(components, { concurrencyMax: 1 });
    backend.fail({ kind: "delete", times: 4 });
    deleter.discard(["a"]);
    await ports.clock.advance(60_000);
    await deleter.whenIdle();
    assert.deepEqual(await keysBelow(backend), []);
    assert.equal(metrics.count("tidemark_discard_failures_total"), 4);
  });
});
