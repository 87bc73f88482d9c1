import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../src/engine/types.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import { appendDurably, imageOf, JOB, newMemory, openEngine, rejectsWith } from "./_engine.ts";

/** Opens the store of a disk, as a process of its own on one clock. */
function openOn(disk: ForgettingDisk, clock: ManualClock, mode: "own" | "read"): Promise<Store> {
  return openStore(posixOn(disk, { clock }), { clock, mode });
}

describe("where a job stands", () => {
  test("is told beside its owner, and nothing is touched", async () => {
    const objects = newMemory();
    const { store } = await openEngine(objects);
    const job = await store.job(JOB);
    await appendDurably(job, "w", "a");
    const { store: reading } = await openEngine(objects, { mode: "read" });
    const { epoch, run, head, owner, generation, changeBytes } = await reading.standing(JOB);
    assert.deepEqual([epoch, run, head, owner], [job.epoch, 1, null, undefined]);
    assert.deepEqual(await reading.standing(JOB), { epoch, run, head, generation, changeBytes });
    await appendDurably(job, "w", "b");
    assert.equal((await reading.standing(JOB)).changeBytes > changeBytes, true);
    const { uuid } = await job.checkpoint();
    await job.resume();
    const before = await imageOf(objects);
    const later = await reading.standing(JOB);
    assert.deepEqual([later.epoch, later.run, later.head], [job.epoch, 2, uuid]);
    assert.deepEqual(await imageOf(objects), before);
    await rejectsWith(reading.standing("other"), "job-not-found");
    await rejectsWith(reading.standing("../j"), "invalid-name");
  });

  test("names the owner, and whether it lives", async () => {
    const disk = new ForgettingDisk();
    const clock = new ManualClock();
    const owning = await openOn(disk, clock, "own");
    await owning.job(JOB);
    const reading = await openOn(disk, clock, "read");
    const alive = (await reading.standing(JOB)).owner;
    assert.deepEqual([alive?.host, alive?.runtime, alive?.isAlive], [
      "test-host",
      "node 20.0.0",
      true,
    ]);
    assert.equal(alive?.seenAtMs, clock.nowMs());
    await clock.advance(60_000);
    assert.equal((await reading.standing(JOB)).owner?.isAlive, true);
    await owning.close();
    assert.equal((await reading.standing(JOB)).owner?.isAlive, false);
  });

  test("an owner that was killed is dead once its time is not refreshed any more", async () => {
    const disk = new ForgettingDisk();
    const clock = new ManualClock();
    const killed = new ManualClock();
    await (await openOn(disk, killed, "own")).job(JOB);
    const reading = await openOn(disk, clock, "read");
    assert.equal((await reading.standing(JOB)).owner?.isAlive, true);
    await clock.advance(6000);
    assert.equal((await reading.standing(JOB)).owner?.isAlive, true);
    await clock.advance(1);
    assert.equal((await reading.standing(JOB)).owner?.isAlive, false);
  });
});
