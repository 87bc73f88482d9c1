/** How a store is: room, what keeps it from being used, the jobs that are open. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import { openStore } from "../../mod.ts";
import type { CallPattern } from "../doubles/faulty_backend.ts";
import { temporaryFolder } from "../runtime/temporary_folder.ts";
import {
  append,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  turn,
} from "./_engine.ts";

describe("Store.status", () => {
  test("names the jobs that are open, in order, and what ended one of them", async () => {
    const objects = newMemory();
    const { store, job } = await openJobOn(objects);
    await store.job("a");
    const serving = { epoch: 1, run: 1, isServing: true };
    assert.deepEqual((await store.status()).jobs, [
      { job: "a", ...serving },
      { job: JOB, ...serving },
    ]);
    await openJobOn(objects, {}, { takeOver: true });
    append(job, "totals", "late");
    await rejectsWith(job.writer("totals").persist(), "fenced");
    const [, fenced] = (await store.status()).jobs;
    assert.deepEqual([fenced.isServing, fenced.problem?.code], [false, "fenced"]);
    await job.close();
    assert.deepEqual((await store.status()).jobs.map(({ job }) => job), ["a"]);
  });

  test("says what keeps the store from being written, and leaves nothing behind", async () => {
    const objects = newMemory();
    const { store, backend, ports } = await openEngine(objects);
    assert.equal((await store.status()).problem, undefined);
    const error = new TidemarkError("storage-denied", "Cannot write PROBE");
    backend.fail({ kind: "put", key: /^PROBE$/, error });
    assert.equal((await store.status()).problem, undefined, "it does not look each time");
    ports.clock.advance(10_000);
    assert.equal((await store.status()).problem?.code, "storage-denied");
    assert.equal((await store.status()).problem?.code, "storage-denied");
    ports.clock.advance(1000);
    assert.equal((await store.status()).problem, undefined);
    assert.deepEqual(await keysBelow(objects), ["TIDEMARK"]);
  });

  test("a storage that hangs is told of in time, and asked once", async () => {
    const { store, backend, ports } = await openEngine();
    const puts = () => backend.log.filter(({ kind }) => kind === "put").length;
    for (const call of [{ kind: "get", key: /^TIDEMARK$/ }, { kind: "put", key: /^PROBE$/ }]) {
      ports.clock.advance(10_000);
      const held = backend.hold(call as CallPattern);
      const looking = store.status();
      await held.reached;
      await ports.clock.advance(5000);
      assert.equal((await looking).problem?.code, "storage-unavailable");
      const before = puts();
      ports.clock.advance(1000);
      const again = store.status();
      await turn();
      await ports.clock.advance(5000);
      assert.equal((await again).problem?.code, "storage-unavailable");
      assert.equal(puts(), before);
      held.release();
      await turn();
      ports.clock.advance(1000);
      assert.equal((await store.status()).problem, undefined);
    }
    const held = backend.hold({ kind: "get", key: /^TIDEMARK$/ });
    const checked = rejectsWith(store.check(), "storage-unavailable");
    await held.reached;
    await ports.clock.advance(5000);
    await checked;
  });

  test("says that the store is gone", async () => {
    const objects = newMemory();
    const { store, ports } = await openEngine(objects);
    await objects.delete("TIDEMARK");
    assert.equal((await store.status()).problem?.code, "store-not-found");
    ports.clock.advance(1000);
    assert.equal((await store.status()).problem?.code, "store-not-found");
  });

  test("says that the disk is full, until there is room for the reserve again", async () => {
    const bytesMax = 30_000;
    const objects = newMemory({ bytesMax });
    const { store, job, ports } = await openJobOn(objects, { reserveBytes: 20_000 });
    assert.equal((await store.status()).isFull, false);
    let taken = 0;
    for await (const { size } of objects.list("")) taken += size;
    await objects.put("jobs/orders/private/much", new Uint8Array(bytesMax - taken - 100));
    await job.setRetention({ minCount: 3 });
    assert.ok(!(await keysBelow(objects)).includes("RESERVE"));
    assert.equal((await store.status()).isFull, true);
    await objects.delete("jobs/orders/private/much");
    ports.clock.advance(10_000);
    await store.status();
    assert.equal((await store.status()).isFull, false);
  });

  test("says what is used of a limit, and that it refuses, until there is room again", async () => {
    const { store, job } = await openJobOn(newMemory(), { storeBytesMax: 200_000 });
    const { bytesUsed = 0, bytesMax } = await store.status();
    assert.ok(bytesUsed > 0 && bytesMax === 200_000);
    const append = async (bytes: number) => {
      job.writer("totals").append(0, crypto.getRandomValues(new Uint8Array(bytes)));
      await job.writer("totals").persist();
    };
    await append(60_000);
    await job.checkpoint();
    const other = await store.job("other");
    other.writer("totals").append(0, crypto.getRandomValues(new Uint8Array(65_000)));
    await other.writer("totals").persist();
    await append(60_000);
    await rejectsWith(append(60_000), "storage-full");
    assert.equal((await store.status()).isFull, true);
    await store.deleteJob("other");
    assert.equal((await store.status()).isFull, false);
  });

  test("says how much room there is on a disk, and writes nothing where it only reads", async () => {
    await using folder = await temporaryFolder();
    await using disk = await openStore(folder.path);
    const { bytesFree = 0, bytesTotal = 0, bytesUsed } = await disk.status();
    assert.ok(bytesFree > 0 && bytesTotal >= bytesFree && bytesUsed === undefined);
    const objects = newMemory();
    await openEngine(objects);
    const { store, backend } = await openEngine(objects, { mode: "read" });
    const { problem, isFull } = await store.status();
    assert.deepEqual([problem, isFull], [undefined, false]);
    assert.deepEqual(backend.log.filter(({ kind }) => kind.startsWith("put")), []);
  });

  test("is refused by a store that is closed", async () => {
    const { store } = await openEngine();
    await store.close();
    await rejectsWith(store.status(), "closed");
  });
});
