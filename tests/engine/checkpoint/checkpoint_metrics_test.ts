import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CheckpointMetrics } from "../../../src/engine/checkpoint/checkpoint_metrics.ts";
import type { ManifestBody } from "../../../src/engine/format/manifest.ts";
import { resolveSettings } from "../../../src/engine/settings.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { OpenStore } from "../../../src/engine/store.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import {
  appendDurably,
  AT_ONCE,
  changeFiles,
  JOB,
  MANIFEST,
  newMemory,
  rejectsWith,
  Surroundings,
} from "../_engine.ts";

const SIZES = ["changelog", "changelog_added", "state", "state_added"];

/** Changelog and states of the newest checkpoint, each in full and what was added. */
function sizesOf(metrics: RecordingMetrics): (number | undefined)[] {
  return SIZES.map((name) => metrics.gaugeValue(`tidemark_checkpoint_${name}_bytes`));
}

function countsOf(metrics: RecordingMetrics): number[] {
  return ["checkpoints_begun", "checkpoints", "checkpoint_failures", "discards", "discard_failures"]
    .map((name) => metrics.count(`tidemark_${name}_total`));
}

let processes = 500;

async function openCounted(objects: StorageBackend) {
  const ports = Object.assign(new Surroundings(++processes), { metrics: new RecordingMetrics() });
  const backend = new FaultyBackend(objects);
  const settings = resolveSettings({ ...AT_ONCE, changeFileBytesMax: 1 });
  const store = await OpenStore.open(backend, settings, ports);
  return { ...ports, store, backend, job: await store.job(JOB) };
}

async function changelogBytes(objects: StorageBackend): Promise<number> {
  let bytes = 0;
  for (const key of await changeFiles(objects)) bytes += (await objects.head(key))!.size;
  return bytes;
}

describe("metrics of checkpoints", () => {
  test("count them from the call to the publish, or to what they failed with", async () => {
    const { job, metrics, clock, backend } = await openCounted(newMemory());
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    const checkpoint = job.checkpoint();
    await held.reached;
    assert.deepEqual(countsOf(metrics), [1, 0, 0, 0, 0]);
    clock.advanceSync(250);
    held.release();
    await checkpoint;
    backend.fail({ kind: "putIfAbsent", key: MANIFEST });
    await rejectsWith(job.checkpoint(), "storage-unavailable");
    assert.deepEqual(countsOf(metrics).slice(0, 3), [2, 1, 1]);
    assert.deepEqual(metrics.values("tidemark_checkpoint_duration_seconds"), [0.25]);
  });

  test("show what the newest needs, and what it added, until the job is closed", async () => {
    const objects = newMemory();
    const { job, metrics, store } = await openCounted(objects);
    assert.deepEqual(sizesOf(metrics), [undefined, undefined, undefined, undefined]);
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    // A file's end frame belongs to no checkpoint.
    const [first, added, ...states] = sizesOf(metrics) as number[];
    assert.ok(first > 0 && first < await changelogBytes(objects), `${first} bytes`);
    assert.deepEqual([added, states], [first, [0, 0]]);
    await job.checkpoint();
    assert.deepEqual(sizesOf(metrics), [first, 0, 0, 0]);
    await appendDurably(job, "w", "b");
    await job.checkpoint();
    const [second, addedThen] = sizesOf(metrics) as number[];
    assert.equal(addedThen, second - first);
    assert.ok(addedThen > 0);
    await store.close();
    assert.deepEqual(sizesOf(metrics), [undefined, undefined, undefined, undefined]);

    const again = await openCounted(objects);
    await again.job.checkpoint();
    assert.deepEqual(sizesOf(again.metrics), [second, 0, 0, 0]);
  });

  test("show state objects by themselves; one that is longer than before added the rest", () => {
    const recorded = new RecordingMetrics();
    const metrics = new CheckpointMetrics(recorded, JOB, new ManualClock());
    const needed = (key: string, epoch: number, length: number) => ({ key, epoch, length });
    const publish = (files: unknown[], states: unknown[]) =>
      metrics.published({ epoch: 3, files, states } as unknown as ManifestBody);
    publish([needed("old", 2, 10), needed("own", 3, 5)], [needed("s1", 2, 100)]);
    assert.deepEqual(sizesOf(recorded), [15, 5, 100, 0]);
    publish([needed("own", 3, 8)], [needed("s1", 2, 100), needed("s2", 3, 40)]);
    assert.deepEqual(sizesOf(recorded), [8, 3, 140, 40]);
    publish([needed("own", 3, 8), needed("old", 2, 10)], [needed("s3", 3, 1)]);
    assert.deepEqual(sizesOf(recorded), [18, 10, 1, 1]);
    metrics.close();
    publish([], []);
    assert.deepEqual(sizesOf(recorded), [undefined, undefined, undefined, undefined]);
  });
});

test("metrics of deletes count what a collection removes, and what it can't", async () => {
  const objects = newMemory();
  const { job, metrics, backend } = await openCounted(objects);
  for (const text of ["a", "b", "c"]) {
    await appendDurably(job, "w", text);
    const writer = job.writer("w");
    writer.truncate(writer.nextSequenceNumber());
    await job.checkpoint();
  }
  backend.fail({ kind: "delete" });
  const before = countsOf(metrics);
  const held = backend.hold({ kind: "delete", skip: 1 });
  const collecting = job.collect({ quarantineMs: 0 });
  await held.reached;
  assert.equal(metrics.gaugeValue("tidemark_discard_queue_files"), 0);
  held.release();
  const { objects: all, problems } = await collecting;
  const going = all.filter(({ action }) => action === "delete").length;
  assert.ok(going > 1 && problems.length === 1, `${going} go, ${problems.length} problems`);
  assert.deepEqual(countsOf(metrics).slice(3), [before[3] + going - 1, before[4] + 1]);
  assert.equal(metrics.gaugeValue("tidemark_discard_queue_files"), undefined);
});
