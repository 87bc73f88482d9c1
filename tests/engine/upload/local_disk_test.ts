import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TidemarkError } from "../../../src/engine/errors.ts";
import { LocalDisk } from "../../../src/engine/upload/local_disk.ts";
import { collect, storageBackendConformance } from "../../conformance/storage_backend.ts";
import { type BackendCallKind, FaultyBackend } from "../../doubles/faulty_backend.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { bytesOf, hasSettled, newMemory, rejectsWith, turn } from "../_engine.ts";

storageBackendConformance("LocalDisk", () => {
  const backend = new LocalDisk(newMemory(), new ManualClock());
  return Promise.resolve({ backend, release: () => backend.close() });
});

const KEY = "a/file";

/** A place with one object, whose calls hang as planned. */
async function newDisk() {
  const clock = new ManualClock();
  const inner = new FaultyBackend(newMemory());
  await inner.put(KEY, bytesOf("bytes"));
  const hangs: TidemarkError[] = [];
  const disk = new LocalDisk(inner, clock, { onHang: (error) => void hangs.push(error) });
  return { clock, inner, hangs, disk };
}

const CALLS: { readonly [Kind in BackendCallKind]?: (disk: LocalDisk) => Promise<unknown> } = {
  prepare: (disk) => disk.prepare({ create: true }),
  put: (disk) => disk.put(KEY, bytesOf("x")),
  putIfAbsent: (disk) => disk.putIfAbsent(KEY, bytesOf("x")),
  get: (disk) => disk.get(KEY),
  head: (disk) => disk.head(KEY),
  list: (disk) => collect(disk.list("")),
  delete: (disk) => disk.delete(KEY),
  createAppender: (disk) => disk.createAppender("a/log"),
  write: async (disk) => await (await disk.createAppender("a/log")).write(bytesOf("x")),
  sync: async (disk) => await (await disk.createAppender("a/log")).sync(),
  closeAppender: async (disk) => await (await disk.createAppender("a/log")).close(),
  pin: (disk) => disk.pin(KEY),
  lock: (disk) => disk.lock("a/LOCK"),
  listTemporary: (disk) => collect(disk.listTemporary("")),
  deleteTemporary: (disk) => disk.deleteTemporary("a/.tmp-none-0"),
  close: (disk) => disk.close(),
};

describe("LocalDisk", () => {
  for (const [kind, call] of Object.entries(CALLS)) {
    test(`waits 5 s for ${kind}, then leaves the place alone`, async () => {
      const { clock, inner, hangs, disk } = await newDisk();
      inner.hold({ kind: kind as BackendCallKind });
      const calling = rejectsWith(call(disk), "closed");
      await turn();
      await clock.advance(4999);
      assert.equal(disk.isLeft, false);
      assert.equal(await hasSettled(calling), false);
      await clock.advance(1);
      const error = await calling;
      assert.match(error.message, /took longer than 5000 ms; look at the disk/);
      assert.deepEqual([disk.isLeft, hangs], [true, [error]]);
      assert.equal(clock.pendingCount, 0);
      const before = inner.log.length;
      await rejectsWith(disk.get(KEY), "closed");
      assert.throws(() => disk.existsSync(KEY), error);
      assert.equal(inner.log.length, before, "asked again");
      await disk.close();
      assert.equal(hangs.length, 1);
    });
  }

  test("leaves no timer behind a call that is answered, whatever the answer", async () => {
    const { clock, inner, disk } = await newDisk();
    await disk.get(KEY);
    inner.fail({ kind: "get" });
    await rejectsWith(disk.get(KEY), "storage-unavailable");
    await collect(disk.list(""));
    assert.deepEqual([disk.isLeft, clock.pendingCount], [false, 0]);
  });

  test("runs two calls at once, and fails those that wait when one of them hangs", async () => {
    const { clock, inner, hangs, disk } = await newDisk();
    const held = inner.hold({ kind: "get", times: 2 });
    const refused = [1, 2, 3, 4].map(() => rejectsWith(disk.get(KEY), "closed"));
    await held.reached;
    await clock.advance(5000);
    await Promise.all(refused);
    assert.equal(inner.keysOf("get").length, 2);
    assert.equal(hangs.length, 1);
    held.release();
    await turn();
    assert.equal(inner.keysOf("get").length, 2, "went on with what was refused");
  });

  test("goes on with the next when a call is done", async () => {
    const { inner, disk } = await newDisk();
    const held = inner.hold({ kind: "get", times: 2 });
    const reads = [1, 2, 3].map(() => disk.get(KEY));
    await held.reached;
    held.release();
    assert.equal((await Promise.all(reads)).length, 3);
  });

  test("does not blame the disk for a process that stood still", async () => {
    const { clock, inner, disk } = await newDisk();
    const held = inner.hold({ kind: "get" });
    const reading = disk.get(KEY);
    await held.reached;
    // All that was due meanwhile comes once, when the process goes on.
    const [due] = [clock.nextDelayMs!];
    assert.ok(due < 5000, `looks after ${due} ms`);
    await clock.advance(due);
    held.release();
    assert.equal((await reading).length, 5);
    assert.deepEqual([disk.isLeft, clock.pendingCount], [false, 0]);
  });

  test("does not wait for a place that is left alone when it is closed", async () => {
    const { clock, inner, disk } = await newDisk();
    inner.hold({ kind: "get" });
    const reading = rejectsWith(disk.get(KEY), "closed");
    await turn();
    await clock.advance(5000);
    await reading;
    inner.hold({ kind: "close" });
    await disk.close();
    assert.equal(inner.keysOf("close").length, 1);
  });
});
