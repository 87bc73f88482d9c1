/** Memory of durable changes is used again: what is written of them must never be what came later. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { adopt, giveBack, takeWhole } from "../../src/engine/changelog/_chunk_memory.ts";
import { changesFromCborSequence, encodeChanges } from "../../src/engine/format/change_input.ts";
import { KIB } from "../../src/engine/limits.ts";
import type { Job } from "../../src/engine/types.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { newMemory, openEngine, openJobOn, turn } from "./_engine.ts";

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

  for (const seed of [1, 2, 3]) {
    const what = "that changes came in is read by nobody once it is free, whatever goes wrong";
    test(`${what} (seed ${seed})`, async () => {
      const objects = newMemory();
      const random = new SeededRandom(seed);
      const appended = await appendReceived(objects, random);
      const { job } = await openJobOn(objects);
      for (const [writer, changes] of appended) {
        let next = 0;
        for await (const { data } of job.restore({ at: "tail", writers: [writer] })) {
          assert.deepEqual(data, changes[next], `change ${next} of ${writer}`);
          next++;
        }
        assert.equal(next, changes.length);
      }
    });
  }
});

const RECEIVED_BYTES = [40 * KIB, 256 * KIB, 300 * KIB];

/** Appends as a server does, some of it twice, while writes fail, lose their answers and hang. */
async function appendReceived(
  objects: ReturnType<typeof newMemory>,
  random: SeededRandom,
): Promise<Map<string, Uint8Array[]>> {
  const { store, backend, ports } = await openEngine(objects, {
    uploadRetryPolicy: "fixed",
    uploadTimeoutMs: 1000,
    uploadAttemptsMax: 2,
    compression: random.below(2) === 0 ? "none" : "lz4",
  });
  const job = await store.job("orders");
  const appended = new Map<string, Uint8Array[]>([["a", []], ["b", []]]);
  const held: { release(): void }[] = [];
  const goWrong = [
    () => backend.fail({ kind: "write", key: CHANGE_FILE, when: "cut", skip: random.below(3) }),
    () => backend.fail({ kind: "sync", key: CHANGE_FILE, when: "after" }),
    () => held.push(backend.hold({ kind: "write", key: CHANGE_FILE, skip: random.below(3) })),
    () => held.shift()?.release(),
  ];
  const goOn = async (): Promise<void> => {
    await ports.clock.advance(random.below(1200));
    await turn();
    overwriteFree();
  };
  for (let i = 0; i < 20; i++) {
    const [writer, changes] = [...appended][random.below(2)];
    const data = new Uint8Array(RECEIVED_BYTES[random.below(3)] - 10);
    random.fill(data);
    const offset = changes.push(data) - 1;
    const { bytes } = encodeChanges([{ keyGroup: 1, data }]);
    for (let times = random.below(2); times >= 0; times--) {
      const received = random.below(2) === 0
        ? takeWhole(bytes.length)
        : adopt(new Uint8Array(bytes.length));
      received.set(bytes);
      const encoded = changesFromCborSequence(received);
      job.writer(writer).appendAt(offset, encoded).catch((error) => {
        // What was not durable in time is tried again by the next, and by the close.
        assert.equal(error.code, "storage-unavailable");
      });
    }
    if (held.length < 3) goWrong[random.below(4)]();
    await goOn();
  }
  backend.mend();
  for (const call of held) call.release();
  for (let i = 0; i < 5; i++) await goOn();
  await store.close();
  return appended;
}

/** Overwrites memory that nobody has. */
function overwriteFree(): void {
  const free = RECEIVED_BYTES.flatMap((bytes) => [takeWhole(bytes), takeWhole(bytes)]);
  for (const bytes of free) new Uint8Array(bytes.buffer).fill(0xee);
  giveBack(free);
}
