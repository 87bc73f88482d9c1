import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Progress } from "../../../src/engine/types.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  GENERATION,
  keysBelow,
  MANIFEST,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
} from "../_engine.ts";

const UUID = "01a22a92-1ae8-748b-b347-2026a263a87f";

describe("CheckpointOptions.uuid", () => {
  test("names the checkpoint, and refuses the nil one, none, and one that was used", async () => {
    const { job } = await openJobOn();
    assert.equal((await job.checkpoint({ uuid: UUID })).uuid, UUID);
    await rejectsWith(job.checkpoint({ uuid: UUID }), "checkpoint-exists");
    for (const uuid of ["00000000-0000-0000-0000-000000000000", "x", UUID.toUpperCase()]) {
      await assert.rejects(job.checkpoint({ uuid }), RangeError);
    }
    assert.equal((await job.checkpoints()).length, 1);
  });

  test("refuses one that is being made, that has failed, or that another owner left behind", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    const publish = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const making = job.checkpoint({ uuid: UUID });
    await publish.reached;
    await rejectsWith(job.checkpoint({ uuid: UUID }), "checkpoint-exists");
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    publish.release();
    await rejectsWith(making, "storage-unavailable");
    await rejectsWith(job.checkpoint({ uuid: UUID }), "checkpoint-exists");
    const next = await openJobOn(objects);
    await rejectsWith(next.job.checkpoint({ uuid: UUID }), "checkpoint-exists");
    await next.job.checkpoint();
    assert.deepEqual((await next.job.verify()).problems, []);
  });

  test("is never replaced by another where the name need not be on disk", async () => {
    const { job, backend } = await openJobOn();
    backend.fail({ kind: "putIfAbsent", key: MANIFEST, when: "after" });
    await rejectsWith(job.checkpoint({ uuid: UUID }), "storage-unavailable");
    assert.deepEqual(await job.checkpoints(), []);
    backend.fail({ kind: "putIfAbsent", key: MANIFEST, when: "after" });
    await job.checkpoint();
  });
});

describe("Job.unpublishedCheckpoints", () => {
  test("lists what is being made and what failed, with the reason, and nothing that is published", async () => {
    const { job, backend, ports } = await openJobOn();
    append(job, "w", "a");
    const sync = backend.hold({ kind: "sync", key: CHANGE_FILE });
    const making = job.checkpoint({ uuid: UUID, identifier: "noon" });
    await sync.reached;
    const startedAtMs = ports.clock.nowMs();
    assert.deepEqual(job.unpublishedCheckpoints(), [
      { uuid: UUID, state: "preparing", startedAtMs, identifier: "noon" },
    ]);
    assert.deepEqual(await job.checkpoints(), []);
    sync.release();
    await making;
    assert.deepEqual(job.unpublishedCheckpoints(), []);
    for (let i = 0; i < 20; i++) {
      backend.fail({ kind: "putIfAbsent", key: MANIFEST });
      await rejectsWith(job.checkpoint(), "storage-unavailable");
    }
    const failed = job.unpublishedCheckpoints();
    assert.equal(failed.length, 16, "the last ones");
    assert.ok(failed.every(({ state, reason }) => state === "failed" && reason !== undefined));
  });
});

describe("Job.abortCheckpoint", () => {
  test("gives up what is not being published, and leaves nothing behind", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    append(job, "w", "a");
    const sync = backend.hold({ kind: "sync", key: CHANGE_FILE });
    const making = rejectsWith(job.checkpoint({ uuid: UUID }), "aborted");
    await sync.reached;
    assert.equal(job.abortCheckpoint(UUID), true);
    await making;
    sync.release();
    assert.equal(job.abortCheckpoint(UUID), false);
    assert.equal(job.unpublishedCheckpoints()[0].state, "failed");
    await job.checkpoint();
    assert.equal((await job.checkpoints()).length, 1);
    assert.equal((await keysBelow(objects, "jobs/orders/checkpoints/")).length, 1);
    assert.deepEqual((await restore(job)).changes, { w: ["a"] });
  });

  test("leaves what is being published, and what waits for its turn can be given up", async () => {
    const { job, backend } = await openJobOn();
    const publish = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const making = job.checkpoint({ uuid: UUID });
    await publish.reached;
    const other = "01a22a92-1ae8-748b-b347-2026a263a880";
    const waiting = rejectsWith(job.checkpoint({ uuid: other }), "aborted");
    assert.deepEqual([job.abortCheckpoint(UUID), job.abortCheckpoint(other)], [false, true]);
    publish.release();
    assert.equal((await making).uuid, UUID);
    await waiting;
    assert.equal((await job.checkpoints()).length, 1);
    assert.equal(job.abortCheckpoint("none"), false);
  });

  test("is what a signal does, which also ends the wait for one that is being published", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    const sync = backend.hold({ kind: "sync", key: CHANGE_FILE });
    const first = new AbortController();
    const making = job.checkpoint({ signal: first.signal });
    await sync.reached;
    first.abort(new Error("enough"));
    await assert.rejects(making, /enough/);
    sync.release();
    await job.writer("w").persist();
    assert.deepEqual(await job.checkpoints(), []);
    const publish = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const second = new AbortController();
    const published = job.checkpoint({ signal: second.signal });
    await publish.reached;
    second.abort(new Error("enough"));
    await assert.rejects(published, /enough/);
    publish.release();
    await job.collect();
    assert.equal((await job.checkpoints()).length, 1);
  });
});

describe("progress", () => {
  test("is told writer by writer, delete by delete, file by file", async () => {
    const { job } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    const seen: string[] = [];
    const onProgress = ({ phase, done, total }: Progress): void =>
      void seen.push(`${phase} ${done}/${total}`);
    append(job, "v", "a");
    append(job, "w", "a");
    await job.checkpoint({ onProgress });
    assert.deepEqual(seen.splice(0), ["persist 0/2", "persist 1/2", "persist 2/2", "publish 0/1"]);
    await job.verify({ onProgress });
    assert.deepEqual(seen.splice(0), ["verify 1/1"]);
    await job.setRetention({ minCount: 1 });
    await job.checkpoint();
    await job.collect({ quarantineMs: 0, onProgress });
    assert.deepEqual(seen, ["delete 0/1"]);
  });

  test("ends with the signal: what is left goes with the next collection", async () => {
    const { job } = await openJobOn();
    await job.setRetention({ minCount: 1 });
    for (let i = 0; i < 4; i++) await job.checkpoint();
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new Error("enough"));
    await assert.rejects(
      job.collect({ quarantineMs: 0, signal: stop.signal, onProgress }),
      /enough/,
    );
    assert.equal((await job.checkpoints()).length, 1);
    const { objects } = await job.collect({ quarantineMs: 0 });
    assert.equal(objects.filter(({ action }) => action === "delete").length, 2);
  });
});

test("details say which version made a checkpoint, and in which format", async () => {
  const { job } = await openJobOn();
  await appendDurably(job, "w", "a");
  await job.checkpoint();
  const { engineVersion, formatVersion } = await job.checkpointDetails("latest");
  assert.match(engineVersion, /^\d+\.\d+\.\d+/);
  assert.equal(formatVersion, 1);
});
