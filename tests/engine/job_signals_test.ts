import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job, WaitOptions } from "../../src/engine/types.ts";
import { append, GENERATION, hasSettled, openJobOn } from "./_engine.ts";

type Action = (job: Job, uuid: string, options: WaitOptions) => Promise<unknown>;

/** Everything of an owner that waits for its turn, or for the disk. */
const ACTIONS: Readonly<Record<string, Action>> = {
  pin: (job, uuid, options) => job.pin(uuid, "kept", options),
  unpin: (job, uuid, options) => job.unpin(uuid, options),
  setRetention: (job, _, options) => job.setRetention({ minCount: 9 }, options),
  deleteCheckpoint: (job, uuid, options) => job.deleteCheckpoint(uuid, options),
  collect: (job, _, options) => job.collect(options),
  explain: (job, uuid, options) => job.explain(uuid, options),
  resume: (job, _, options) => job.resume({ at: "tail", ...options }),
};

async function withTwo() {
  const engine = await openJobOn();
  const { uuid } = await engine.job.checkpoint();
  await engine.job.checkpoint();
  return { ...engine, uuid };
}

describe("A signal", () => {
  for (const [name, action] of Object.entries(ACTIONS)) {
    test(`ends the wait of ${name}, whatever goes on before it`, async () => {
      const { job, backend, uuid } = await withTwo();
      const held = backend.hold({ kind: "putIfAbsent", key: GENERATION });
      const before = job.checkpoint();
      await held.reached;
      const controller = new AbortController();
      const waiting = action(job, uuid, { signal: controller.signal });
      assert.equal(await hasSettled(waiting), false);
      controller.abort(new Error("long enough"));
      await assert.rejects(waiting, /long enough/);
      held.release();
      await before;
      await job.close();
    });

    test(`that was aborted before begins no ${name}`, async () => {
      const { job, uuid } = await withTwo();
      const signal = AbortSignal.abort(new Error("never mind"));
      await assert.rejects(action(job, uuid, { signal }), /never mind/);
      await job.checkpoint();
      assert.equal(job.run, 1);
      assert.deepEqual(job.retention, { minCount: 2 });
      assert.equal((await job.checkpoints()).length, 3);
    });
  }

  test("ends the wait of a persist; what was handed over becomes durable", async () => {
    const { job, backend } = await withTwo();
    const held = backend.hold({ kind: "sync" });
    append(job, "w", "a");
    const controller = new AbortController();
    const persisting = job.writer("w").persist(0, { signal: controller.signal });
    await held.reached;
    controller.abort(new Error("long enough"));
    await assert.rejects(persisting, /long enough/);
    held.release();
    assert.equal((await job.writer("w").persist()).durableOffset, 1);
  });

  test("ends the wait of a count of the usage", async () => {
    const { job, backend } = await withTwo();
    const held = backend.hold({ kind: "get" });
    const controller = new AbortController();
    const counting = job.usage({ signal: controller.signal });
    await held.reached;
    controller.abort(new Error("long enough"));
    await assert.rejects(counting, /long enough/);
    held.release();
    await job.close();
  });
});
