/** Limits of what a store and its jobs may take. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { resolveSettings, type StoreSettings } from "../../src/engine/settings.ts";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import { StoreRoom } from "../../src/engine/storage/store_room.ts";
import { hasCode } from "../../src/engine/errors.ts";
import { LimitedBackend } from "../../src/engine/storage/limited_backend.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import {
  append,
  appendDurably,
  bytesOf,
  GENERATION,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  Surroundings,
} from "./_engine.ts";

const UNPACKED: Partial<StoreSettings> = { compression: "none" };
const text = (bytes: number): string => "x".repeat(bytes);

async function bytesOn(objects: StorageBackend, prefix = ""): Promise<number> {
  let sum = 0;
  for await (const { size } of objects.list(prefix)) sum += size;
  return sum;
}

/** A room on objects, and a backend that tells it what passes and whose calls fail as planned. */
function newRoom(
  limits: { storeBytesMax?: number },
  objects: StorageBackend = newMemory(),
): { room: StoreRoom; faulty: FaultyBackend; limited: LimitedBackend; ports: Surroundings } {
  const ports = new Surroundings();
  const faulty = new FaultyBackend(objects);
  const room = new StoreRoom(faulty, ports, resolveSettings(limits));
  return { room, faulty, limited: new LimitedBackend(faulty, room), ports };
}

/** Nothing else may go wrong than what was planned. */
function ignorePlanned(error: unknown): void {
  if (!hasCode(error, "storage-unavailable")) throw error;
}

describe("storeBytesMax", () => {
  test("refuses changes that would pass it, keeps what was acknowledged, and takes them when there is room", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects, { ...UNPACKED, storeBytesMax: 20_000 });
    await appendDurably(job, "w", text(8000));
    append(job, "w", text(15_000));
    const error = await rejectsWith(job.writer("w").persist(), "storage-full");
    assert.equal(error.kind, "storage-full");
    assert.match(error.message, /storeBytesMax is 20000; let checkpoints go/);
    assert.deepEqual([error.details.setting, error.details.bytesMax], ["storeBytesMax", 20_000]);
    assert.ok(await bytesOn(objects) <= 20_000);
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: [text(8000)] });
    await rejectsWith(job.checkpoint(), "storage-full");
    const roomier = await openJobOn(objects, { ...UNPACKED, storeBytesMax: 60_000 });
    await appendDurably(roomier.job, "w", text(15_000));
    assert.equal((await restore(roomier.job, { at: "tail" })).trailer.count, 2);
  });

  test("lets collections, pins, retention and checkpoints without new changes work on, which make room", async () => {
    const objects = newMemory();
    const settings = { ...UNPACKED, storeBytesMax: 37_000, changeFileBytesMax: 1 };
    const { job } = await openJobOn(objects, settings);
    const writer = job.writer("w");
    await appendDurably(job, "w", text(9000));
    const { uuid } = await job.checkpoint();
    writer.truncate(writer.nextSequenceNumber());
    await appendDurably(job, "w", text(9000));
    await job.checkpoint();
    append(job, "other", text(15_000));
    await rejectsWith(job.writer("other").persist(), "storage-full");
    await job.pin(uuid);
    await job.unpin(uuid);
    await job.setRetention({ minCount: 1 });
    // Nothing rests while room is short.
    assert.deepEqual((await job.collect()).removed, [uuid]);
    await job.writer("other").persist();
    await job.checkpoint();
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("lets what goes rest while there is room", async () => {
    const { job } = await openJobOn(newMemory(), { ...UNPACKED, storeBytesMax: 1_000_000 });
    for (let i = 0; i < 3; i++) await job.checkpoint();
    const { removed, quarantined } = await job.collect();
    assert.deepEqual([removed.length, quarantined.length], [0, 1]);
  });

  test("counts what others wrote and removed before it refuses", async () => {
    const objects = newMemory();
    const settings = { ...UNPACKED, storeBytesMax: 20_000 };
    await (await openEngine(objects)).store.close();
    await objects.put("jobs/other/private/blob", bytesOf(text(12_000)));
    const { job, ports } = await openJobOn(objects, settings);
    append(job, "w", text(9000));
    await rejectsWith(job.writer("w").persist(), "storage-full");
    await objects.delete("jobs/other/private/blob");
    await rejectsWith(job.writer("w").persist(), "storage-full");
    await ports.clock.advance(10_000);
    await job.writer("w").persist();
  });

  test("warns once, until it has gone back", () => {
    const { room, ports } = newRoom({ storeBytesMax: 100 });
    const warnings = () => ports.logger.messages("warning").length;
    room.set("a", 89);
    assert.equal(warnings(), 0);
    for (const size of [90, 95, 99]) room.set("a", size);
    assert.equal(warnings(), 1);
    room.set("a", undefined);
    room.set("a", 95);
    assert.equal(warnings(), 2);
  });

  test("counts nothing where nothing is limited", async () => {
    const objects = newMemory();
    const { store, backend } = await openEngine(objects);
    assert.equal(backend.log.filter(({ kind, key }) => kind === "list" && key === "").length, 1);
    await store.close();
  });
});

describe("jobBytesMax", () => {
  test("never keeps a job from being opened after a crash, nor from making room then", async () => {
    const objects = newMemory();
    const settings = { ...UNPACKED, jobBytesMax: 20_000 };
    const { job: crashed } = await openJobOn(objects, settings);
    await appendDurably(crashed, "w", text(16_000));
    await rejectsWith(appendDurably(crashed, "w", text(3_000)), "storage-full");
    const { job } = await openJobOn(objects, settings);
    assert.equal(job.recovery.copiedBatches, 1);
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: [text(16_000)] });
    await rejectsWith(appendDurably(job, "v", "x"), "storage-full");
    await job.setRetention({ minCount: 1 });
    const { job: again } = await openJobOn(objects, settings);
    const writer = again.writer("w");
    writer.truncate(writer.nextSequenceNumber());
    await again.checkpoint();
    await again.collect({ quarantineMs: 0 });
    await again.checkpoint();
    await again.collect({ quarantineMs: 0 });
    await appendDurably(again, "v", "x");
  });

  test("limits each job by itself", async () => {
    const objects = newMemory();
    const { store } = await openEngine(objects, { ...UNPACKED, jobBytesMax: 20_000 });
    const [full, other] = [await store.job("full"), await store.job("other")];
    await appendDurably(full, "w", text(15_000));
    append(full, "w", text(15_000));
    const error = await rejectsWith(full.writer("w").persist(), "storage-full");
    assert.match(error.message, /job full takes \d+ bytes, and jobBytesMax is 20000/);
    await appendDurably(other, "w", text(15_000));
    assert.ok(await bytesOn(objects, "jobs/full/") <= 20_000);
  });
});

describe("the count", () => {
  test("looks up what is there when the answer was lost", async () => {
    const { room, faulty, limited } = newRoom({ storeBytesMax: 6000 });
    const key = "jobs/orders/checkpoints/x";
    faulty.fail({ kind: "putIfAbsent", when: "after" });
    await limited.putIfAbsent(key, new Uint8Array(5000)).catch(ignorePlanned);
    await room.require("x", 1000);
    const error = await rejectsWith(room.require("x", 1001), "storage-full");
    assert.equal(error.details.bytes, 5000);
    faulty.fail({ kind: "delete", when: "after" });
    await limited.delete(key).catch(ignorePlanned);
    await room.require("x", 6000);
  });

  test("is that of a recount after calls that succeed, fail, and are cut", async () => {
    const objects = newMemory();
    const { room, faulty, limited } = newRoom({ storeBytesMax: 1_000_000 }, objects);
    await room.recount();
    const { job } = await openJobOn(limited, { ...UNPACKED, changeFileBytesMax: 3000 });
    for (let round = 0; round < 12; round++) {
      const kind = (["write", "putIfAbsent", "delete", "sync"] as const)[round % 4];
      const when = kind === "write" ? "cut" : round % 8 < 4 ? "before" : "after";
      faulty.fail({ kind, key: kind === "putIfAbsent" ? GENERATION : /./, when });
      append(job, "w", text(700));
      await job.writer("w").persist().catch(ignorePlanned);
      await job.checkpoint().catch(ignorePlanned);
      await job.collect({ quarantineMs: 0 }).catch(ignorePlanned);
    }
    faulty.mend();
    await job.checkpoint();
    const takenBytes = async (): Promise<number> =>
      Number((await rejectsWith(room.require("x", 1_000_000), "storage-full")).details.bytes);
    const taken = await bytesOn(objects);
    const counted = await takenBytes();
    assert.ok(counted >= taken, `never less than there is: ${counted} of ${taken}`);
    assert.ok(counted - taken < 3 * 800, "a cut write counts whole until the next count");
    await room.recount();
    assert.equal(await takenBytes(), taken);
  });
});
