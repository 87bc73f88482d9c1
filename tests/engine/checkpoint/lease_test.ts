import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Lease, LEASE_MS, readLeases } from "../../../src/engine/checkpoint/lease.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { JobKeys } from "../../../src/engine/paths.ts";
import type { Job, JobReader } from "../../../src/engine/types.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { MemoryBackend } from "../../../src/engine/storage/memory_backend.ts";
import {
  appendDurably,
  JOB,
  keysBelow,
  openEngine,
  openJobOn,
  rejectsWith,
  restoreWriter,
  Surroundings,
  throwsWith,
  turn,
} from "../_engine.ts";

const AT_ONCE = { quarantineMs: 0 };
const STORE = "01b8dac5-b400-7705-b1c1-c62ebd22e0b2";
/** As the lease has them. */
const RENEWAL_MS = 20_000;
const MARGIN_MS = 10_000;
const CHECKPOINT = "01b8dac5-b400-7705-b1c1-c62ebd22e0b3";

function placeFor(clock: ManualClock) {
  return { backend: new MemoryBackend({ clock }), keys: new JobKeys(JOB), store: STORE };
}

/** A place whose writes wait while the switch is on; `release` lets go those that wait. */
function holding(clock: ManualClock) {
  const place = placeFor(clock);
  const put = place.backend.put.bind(place.backend);
  let waiting: (() => Promise<void>)[] = [];
  const held = {
    isOn: false,
    async release(): Promise<void> {
      const all = waiting;
      waiting = [];
      for (const one of all) await one();
      await turn();
    },
  };
  place.backend.put = (...args) => {
    if (!held.isOn) return put(...args);
    return new Promise<void>((resolve, reject) => {
      waiting.push(() => put(...args).then(resolve, reject));
    });
  };
  return { place, held };
}

/** Objects whose times and whose processes follow one clock. */
async function ownerAndReader() {
  const clock = new ManualClock();
  const objects = new MemoryBackend({ clock });
  const owner = await openJobOn(objects);
  const readers = await openEngine(objects, { mode: "read" });
  const reader = await readers.store.reader(JOB).catch(() => undefined);
  return { clock, objects, owner, reader, readers };
}

async function checkpoint(job: Job, text: string): Promise<string> {
  await appendDurably(job, "w", text);
  return (await job.checkpoint()).uuid;
}

describe("Lease", () => {
  test("is seen by the owner until it is closed", async () => {
    const ports = new Surroundings();
    const place = placeFor(ports.clock);
    const lease = await Lease.take(place, ports, { checkpoint: CHECKPOINT, isTail: false });
    const held = await readLeases(place, ports.clock.nowMs());
    assert.deepEqual([...held.checkpoints], [CHECKPOINT]);
    assert.equal(held.holdsTail, false);
    await lease!.close();
    await lease!.close();
    assert.equal((await readLeases(place, ports.clock.nowMs())).checkpoints.size, 0);
    assert.equal(ports.clock.pendingCount, 0);
  });

  test("holds for all of its time, and for no more", async () => {
    const ports = new Surroundings();
    const place = placeFor(ports.clock);
    await Lease.take(place, ports, { checkpoint: CHECKPOINT, isTail: false });
    const takenMs = ports.clock.nowMs();
    assert.equal((await readLeases(place, takenMs + LEASE_MS)).checkpoints.size, 1);
    assert.equal((await readLeases(place, takenMs + LEASE_MS + 1)).checkpoints.size, 0);
    assert.deepEqual(await keysBelow(place.backend), []);
  });

  test("counts from before its renewal was written, as its owner counts from the file's time", async () => {
    const ports = new Surroundings();
    const { place, held } = holding(ports.clock);
    const lease = await Lease.take(place, ports, { checkpoint: CHECKPOINT, isTail: false });
    held.isOn = true;
    await ports.clock.advance(RENEWAL_MS);
    await ports.clock.advance(RENEWAL_MS);
    held.isOn = false;
    await held.release();
    held.isOn = true;
    await ports.clock.advance(LEASE_MS - MARGIN_MS - RENEWAL_MS);
    lease!.check();
    await ports.clock.advance(1);
    throwsWith(() => lease!.check(), "snapshot-expired");
    held.isOn = false;
    await held.release();
    await lease!.close();
  });

  test("is gone after its close, though a renewal was under way", async () => {
    const ports = new Surroundings();
    const { place, held } = holding(ports.clock);
    const lease = await Lease.take(place, ports, { checkpoint: CHECKPOINT, isTail: false });
    held.isOn = true;
    await ports.clock.advance(RENEWAL_MS);
    const closing = lease!.close();
    held.isOn = false;
    await held.release();
    await closing;
    assert.deepEqual(await keysBelow(place.backend), []);
    assert.equal(ports.clock.pendingCount, 0);
  });

  test("is renewed while it is held", async () => {
    const ports = new Surroundings();
    const place = placeFor(ports.clock);
    const lease = await Lease.take(place, ports, { checkpoint: null, isTail: true });
    for (let i = 0; i < 10; i++) await ports.clock.advance(20_000);
    assert.equal((await readLeases(place, ports.clock.nowMs())).holdsTail, true);
    lease!.check();
    await lease!.close();
  });

  test("ends when it was not renewed, for the owner and for the reader", async () => {
    const ports = new Surroundings();
    const place = placeFor(ports.clock);
    const lease = await Lease.take(place, ports, { checkpoint: CHECKPOINT, isTail: false });
    place.backend.put = () => Promise.reject(new TidemarkError("storage-unavailable", "away"));
    await ports.clock.advance(LEASE_MS + 1);
    throwsWith(() => lease!.check(), "snapshot-expired");
    assert.equal((await readLeases(place, ports.clock.nowMs())).checkpoints.size, 0);
    assert.deepEqual(await keysBelow(place.backend), [], "the owner deletes it");
    await lease!.close();
  });

  for (const code of ["storage-denied", "storage-full"] as const) {
    test(`is none where writing is ${code}`, async () => {
      const ports = new Surroundings();
      const place = placeFor(ports.clock);
      place.backend.put = () => Promise.reject(new TidemarkError(code, "made by a test"));
      const target = { checkpoint: CHECKPOINT, isTail: false };
      assert.equal(await Lease.take(place, ports, target), undefined);
    });
  }

  test("holds everything when it can't be read", async () => {
    const ports = new Surroundings();
    const place = placeFor(ports.clock);
    await place.backend.put(place.keys.reader(CHECKPOINT), new Uint8Array([1, 2, 3]));
    assert.equal((await readLeases(place, ports.clock.nowMs())).holdsTail, true);
  });
});

describe("a reader beside a collecting owner", () => {
  test("keeps the checkpoint that it reads, and lets it go at the end", async () => {
    const { owner: { job }, readers, objects } = await ownerAndReader();
    const first = await checkpoint(job, "one");
    const reader: JobReader = await readers.store.reader(JOB);
    const reading = reader.restore({ at: first })[Symbol.asyncIterator]();
    await reading.next();
    await checkpoint(job, "two");
    await checkpoint(job, "three");
    for (const _ of [1, 2]) {
      assert.deepEqual((await job.collect(AT_ONCE)).removed, [], "what is read stays listed");
    }
    assert.equal((await reading.next()).done, true);
    assert.deepEqual(await keysBelow(objects, `jobs/${JOB}/readers/`), []);
    assert.deepEqual((await job.collect(AT_ONCE)).removed, [first]);
    assert.equal((await keysBelow(objects, `jobs/${JOB}/checkpoints/`)).length, 2);
  });

  test("keeps what it reads though the catalog listed it no more when its lease came", async () => {
    const { owner: { job }, readers, owner, objects } = await ownerAndReader();
    const first = await checkpoint(job, "one");
    const reader: JobReader = await readers.store.reader(JOB);
    await checkpoint(job, "two");
    await checkpoint(job, "three");
    const publish = owner.backend.hold({ kind: "putIfAbsent", key: /catalog/ });
    const collecting = job.collect(AT_ONCE);
    await publish.reached;
    const reading = reader.restore({ at: first })[Symbol.asyncIterator]();
    await reading.next();
    publish.release();
    assert.deepEqual((await collecting).removed, [first]);
    await job.collect(AT_ONCE);
    assert.equal((await keysBelow(objects, `jobs/${JOB}/checkpoints/`)).length, 3);
    assert.equal((await reading.next()).done, true);
  });

  test("starts over when what it wants went between its look and its lease", async () => {
    const { owner: { job }, readers } = await ownerAndReader();
    const first = await checkpoint(job, "one");
    const reader = await readers.store.reader(JOB);
    const lease = readers.backend.hold({ kind: "put", key: /readers/ });
    const restoring = restoreWriter(reader, "w", first);
    await lease.reached;
    await checkpoint(job, "two");
    await checkpoint(job, "three");
    await job.collect(AT_ONCE);
    lease.release();
    await rejectsWith(restoring, "checkpoint-not-found");
  });

  test("reads the tail whole, whatever is collected meanwhile", async () => {
    const { owner: { job }, readers } = await ownerAndReader();
    await checkpoint(job, "one");
    await appendDurably(job, "w", "tail");
    const reader = await readers.store.reader(JOB);
    const reading = reader.restore({ at: "tail" })[Symbol.asyncIterator]();
    await reading.next();
    await checkpoint(job, "two");
    await checkpoint(job, "three");
    await job.collect(AT_ONCE);
    assert.equal((await reading.next()).done, false);
    await reading.return?.();
  });

  test("gives nothing more when its lease could not be renewed, though it is all still there", async () => {
    const { owner: { job }, readers } = await ownerAndReader();
    await appendDurably(job, "w", "one");
    await appendDurably(job, "w", "two");
    await job.checkpoint();
    const reader = await readers.store.reader(JOB);
    const reading = reader.restore()[Symbol.asyncIterator]();
    await reading.next();
    const away = new TidemarkError("storage-unavailable", "made by a test");
    readers.backend.fail({ kind: "put", key: /readers/, times: 100, error: away });
    await readers.ports.clock.advance(LEASE_MS - MARGIN_MS + 1);
    await rejectsWith(reading.next(), "snapshot-expired");
  });

  test("says that a snapshot has expired, not that data is lost, where it may not write", async () => {
    const { owner: { job, ports }, readers } = await ownerAndReader();
    const first = await checkpoint(job, "one");
    await job.resume({ at: "latest" });
    const left = await checkpoint(job, "left");
    const reader = await readers.store.reader(JOB);
    const denied = new TidemarkError("storage-denied", "read-only");
    readers.backend.fail({ kind: "put", key: /readers/, error: denied });
    const opening = readers.backend.hold({ kind: "head", key: /changelog/ });
    const restoring = restoreWriter(reader, "w", left);
    await opening.reached;
    await job.resume({ at: first });
    await checkpoint(job, "other");
    await ports.clock.advance(8 * 86_400_000);
    assert.deepEqual((await job.collect(AT_ONCE)).removed, [left]);
    opening.release();
    await rejectsWith(restoring, "snapshot-expired");
  });
});
