/** Memory of durable changes is used again: what is written of them must never be what came later. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KIB } from "../../src/engine/limits.ts";
import type { Job } from "../../src/engine/types.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { newMemory, openEngine, openJobOn } from "./_engine.ts";

const CHANGE_BYTES = 100 * KIB;
const CHANGE_FILE = /changelog/;

/** Appends changes that can't be compressed, so that a batch has several pieces. */
function appendLarge(job: Job, random: SeededRandom, count: number): Uint8Array[] {
  return Array.from({ length: count }, () => {
    const data = new Uint8Array(CHANGE_BYTES);
    random.fill(data);
    job.writer("large").append(0, data);
    return data;
  });
}

async function assertRestored(job: Job, appended: readonly Uint8Array[]): Promise<void> {
  let next = 0;
  for await (const { data } of job.restore({ at: "tail" })) {
    assert.deepEqual(data, appended[next], `change ${next}`);
    next++;
  }
  assert.equal(next, appended.length);
}

describe("memory of durable changes that is used again", () => {
  test("holds nothing that is still to be written, over many persists", async () => {
    const { job } = await openJobOn(newMemory());
    const random = new SeededRandom(1);
    const appended: Uint8Array[] = [];
    for (let round = 0; round < 6; round++) {
      appended.push(...appendLarge(job, random, 12));
      const persisted = job.writer("large").persist();
      // While the first is written, the next gathers.
      appended.push(...appendLarge(job, random, 12));
      await persisted;
    }
    await job.writer("large").persist();
    await assertRestored(job, appended);
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("is not read by an upload that hung and was given up, when that goes on", async () => {
    const objects = newMemory();
    const { store, backend, ports } = await openEngine(objects, {
      uploadRetryPolicy: "fixed",
      uploadTimeoutMs: 1000,
      uploadAttemptsMax: 2,
    });
    const job = await store.job("orders");
    const random = new SeededRandom(2);
    const appended = appendLarge(job, random, 40);
    const held = backend.hold({ kind: "write", key: CHANGE_FILE, skip: 2 });
    const persisted = job.writer("large").persist();
    await held.reached;
    await ports.clock.advance(1000);
    await persisted;
    appended.push(...appendLarge(job, random, 40));
    held.release();
    await job.writer("large").persist();
    await assertRestored(job, appended);
    await store.close();
    const successor = await openJobOn(objects);
    await assertRestored(successor.job, appended);
    assert.deepEqual((await successor.job.verify()).problems, []);
  });
});
