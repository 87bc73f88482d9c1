import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { Reserve, withReserve } from "../../../src/engine/checkpoint/reserve.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import {
  appendDurably,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  Surroundings,
} from "../_engine.ts";

const RESERVE = "RESERVE";
const FULL = new TidemarkError("storage-full", "made by a test");

describe("Reserve", () => {
  test("is made with a store, and once more when there is room again", async () => {
    const { backend } = await openEngine(newMemory(), { reserveBytes: 100 });
    assert.equal((await backend.head(RESERVE))?.size, 100);
    const reserve = new Reserve(backend, new Surroundings(), 100);
    assert.equal(await reserve.giveUp(), true);
    assert.equal(await reserve.giveUp(), false);
    assert.equal(await backend.head(RESERVE), undefined);
    await reserve.ensure();
    assert.equal((await backend.head(RESERVE))?.size, 100);
    const writes = backend.keysOf("put").length;
    await reserve.ensure();
    assert.equal(backend.keysOf("put").length, writes, "one that is there is left alone");
  });

  test("takes its room on a file system that compresses, too", async () => {
    const { backend } = await openEngine(newMemory(), { reserveBytes: 65_536 });
    const packed = gzipSync(await backend.get(RESERVE));
    assert.ok(packed.length > 65_000, `packs into ${packed.length} bytes`);
  });

  test("is none when it has no bytes, and none where there is no room", async () => {
    const { backend } = await openEngine(newMemory(), { reserveBytes: 0 });
    assert.equal(await backend.head(RESERVE), undefined);
    const ports = new Surroundings();
    backend.fail({ kind: "put", error: FULL });
    await new Reserve(backend, ports, 100).ensure();
    assert.match(ports.logger.records[0].message, /Cannot make the reserve/);
  });
});

describe("withReserve", () => {
  test("tries once more after the reserve was given up, and only then", async () => {
    const { backend } = await openEngine(newMemory(), { reserveBytes: 100 });
    const reserve = new Reserve(backend, new Surroundings(), 100);
    let calls = 0;
    const failOnce = () => ++calls === 1 ? Promise.reject(FULL) : Promise.resolve("done");
    assert.equal(await withReserve(reserve, failOnce), "done");
    await rejectsWith(withReserve(reserve, () => Promise.reject(FULL)), "storage-full");
    const unknown = new TidemarkError("storage-full", "half done", { outcome: "unknown" });
    await reserve.ensure();
    await rejectsWith(withReserve(reserve, () => Promise.reject(unknown)), "storage-full");
    assert.notEqual(await backend.head(RESERVE), undefined);
  });
});

describe("a job on a full disk", () => {
  test("publishes with the room of the reserve, collects, and makes the reserve again", async () => {
    const { job, backend } = await openJobOn(newMemory(), { reserveBytes: 100 });
    for (const text of ["one", "two", "three"]) {
      await appendDurably(job, "w", text);
      await job.checkpoint();
    }
    backend.fail({ kind: "putIfAbsent", key: /catalog/, error: FULL });
    const { removed, deletedBytes } = await job.collect({ quarantineMs: 0 });
    assert.equal(removed.length, 1);
    assert.ok(deletedBytes > 0);
    const deletes = backend.keysOf("delete");
    assert.equal(deletes[0], RESERVE, "given up before anything was deleted");
    assert.equal((await backend.head(RESERVE))?.size, 100);
  });
});
