import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MARKER_KEY } from "../../src/engine/paths.ts";
import { fixedProcessInfo } from "../doubles/fixed_process_info.ts";
import { FaultyBackend } from "../doubles/faulty_backend.ts";
import { CHANGING_CALLS, ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { posixOn } from "../doubles/posix_on_double.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  flip,
  imageOf,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restoreWriter,
  rewrite,
} from "./_engine.ts";

describe("OpenStore.open", () => {
  test("makes a store where nothing is, and finds it again", async () => {
    const objects = newMemory();
    const { store } = await openEngine(objects);
    assert.equal(store.isNew, true);
    assert.equal(store.location, "memory");
    assert.deepEqual(await keysBelow(objects), [MARKER_KEY]);
    assert.deepEqual(await store.jobs(), []);
    await store.close();
    const { store: again } = await openEngine(objects);
    assert.deepEqual([again.isNew, again.id], [false, store.id]);
  });

  test("makes nothing when it is told not to, or in mode read", async () => {
    for (const settings of [{ create: false }, { mode: "read" }] as const) {
      const objects = newMemory();
      const error = await rejectsWith(openEngine(objects, settings), "store-not-found");
      assert.equal(error.kind, "not-found");
      assert.deepEqual(await keysBelow(objects), []);
      const disk = new ForgettingDisk();
      await rejectsWith(openEngine(posixOn(disk), settings), "store-not-found");
      assert.deepEqual(disk.log.filter(({ kind }) => kind === "mkdir"), []);
    }
  });

  test("does not rely on a marker whose name a failed sync may have lost", async () => {
    const disk = new ForgettingDisk();
    disk.addFault({
      matches: ({ kind }) =>
        kind === "syncDirectory" &&
        disk.log.some((call) => call.kind === "link" && call.path.endsWith(MARKER_KEY)),
      error: "EIO",
      losesPending: true,
    });
    const { store, job } = await openJobOn(posixOn(disk));
    await appendDurably(job, "w", "a");
    disk.crash("power-cut");
    const { store: again, job: found } = await openJobOn(posixOn(disk));
    assert.equal(again.id, store.id);
    assert.deepEqual(await restoreWriter(found, "w"), ["a"]);
  });

  test("says that it may have made a marker when the answer is lost, and it can't make sure", async () => {
    for (const kind of ["get", "put"] as const) {
      const objects = new FaultyBackend(newMemory());
      objects.fail({ kind: "putIfAbsent", when: "after" });
      objects.fail({ kind, skip: kind === "get" ? 1 : 0 });
      const error = await rejectsWith(openEngine(objects), "storage-unavailable");
      assert.deepEqual([error.outcome, await keysBelow(objects)], ["unknown", [MARKER_KEY]]);
    }
  });

  test("tells whether its marker is still there, and its own", async () => {
    const objects = newMemory();
    const { store, backend } = await openEngine(objects);
    await store.check();
    const marker = await objects.get(MARKER_KEY);
    await objects.delete(MARKER_KEY);
    const gone = await rejectsWith(store.check(), "store-not-found");
    assert.match(gone.message, /there is no TIDEMARK; nothing more is stored until it is back$/);
    const { store: other } = await openEngine(objects);
    const error = await rejectsWith(store.check(), "store-not-found");
    assert.equal(error.details.found, other.id);
    await objects.put(MARKER_KEY, marker.slice(0, -4));
    await rejectsWith(store.check(), "corrupt");
    backend.fail({ kind: "get" });
    await rejectsWith(store.check(), "storage-unavailable");
    await objects.put(MARKER_KEY, marker);
    await store.check();
    await store.close();
    await rejectsWith(store.check(), "closed");
  });

  test("removes what dead processes left beside the marker, after an hour", async () => {
    const disk = new ForgettingDisk({ folders: ["/disk/store"] });
    const left = "/disk/store/.tmp-none-01b8dac5-b400-7196-9db6-8891dba957b8";
    await (await disk.fileSystem().open(left, "create")).close();
    const { store } = await openEngine(posixOn(disk));
    await store.close();
    assert.equal(disk.fileSystem().statSync(left), undefined);
  });

  test("refuses what is not empty and has no marker, and touches nothing there", async () => {
    const objects = newMemory();
    await objects.put("thesis.txt", new Uint8Array(3));
    const image = await imageOf(objects);
    const error = await rejectsWith(openEngine(objects), "not-a-store");
    assert.equal(error.details.found, "thesis.txt");
    assert.deepEqual(await imageOf(objects), image);
  });

  test("refuses a folder that is not empty and has no marker before it writes a byte there", async () => {
    const disk = new ForgettingDisk({ folders: ["/disk/store"] });
    const file = await disk.fileSystem().open("/disk/store/thesis.txt", "create");
    await file.close();
    const calls = disk.log.length;
    await rejectsWith(openEngine(posixOn(disk)), "not-a-store");
    const changes = disk.log.slice(calls).filter(({ kind }) =>
      CHANGING_CALLS.has(kind) && kind !== "syncDirectory"
    );
    assert.deepEqual(changes, []);
  });

  test("makes a store in a folder that is there and empty", async () => {
    const disk = new ForgettingDisk({ folders: ["/disk/store"] });
    const { store } = await openEngine(posixOn(disk));
    assert.equal(store.isNew, true);
    await store.close();
  });

  test("refuses a marker that can't be read or is of a newer version, and replaces none", async () => {
    const objects = newMemory();
    await openEngine(objects);
    const bytes = await objects.get(MARKER_KEY);
    await rewrite(objects, MARKER_KEY, flip(bytes.length - 5));
    const bad = await objects.get(MARKER_KEY);
    await rejectsWith(openEngine(objects), "corrupt");
    assert.deepEqual(await objects.get(MARKER_KEY), bad);
    const backend = new FaultyBackend(newMemory());
    backend.fail({ kind: "get", key: /TIDEMARK/ });
    await rejectsWith(openEngine(backend), "storage-unavailable");
    assert.deepEqual(await keysBelow(backend), []);
  });

  for (const kind of ["list", "prepare", "putIfAbsent"] as const) {
    test(`takes the store of whoever made it in the same moment (${kind})`, async () => {
      const objects = newMemory();
      const backend = new FaultyBackend(objects);
      const held = backend.hold({ kind });
      const slow = openEngine(backend);
      await held.reached;
      const { store } = await openJobOn(objects);
      held.release();
      assert.equal((await slow).store.id, store.id);
    });
  }
});

describe("Store.job", () => {
  test("is the same object for the same job, also when asked for twice at once", async () => {
    const { store } = await openEngine();
    const [one, other] = await Promise.all([store.job(JOB), store.job(JOB)]);
    assert.equal(one, other);
    assert.equal(await store.job(JOB), one);
    assert.equal(one.epoch, 1);
    assert.notEqual(await store.job("another"), one);
  });

  test("refuses another fingerprint while it is open, and takes it after", async () => {
    const { store } = await openEngine();
    const job = await store.job(JOB, { fingerprint: 5n });
    assert.equal(await store.job(JOB), job);
    assert.equal(await store.job(JOB, { fingerprint: 5n }), job);
    const error = await rejectsWith(store.job(JOB, { fingerprint: 6n }), "settings-conflict");
    assert.deepEqual([error.details.found, error.details.wanted], [5n, 6n]);
    await job.close();
    const again = await store.job(JOB, { fingerprint: 6n });
    assert.notEqual(again, job);
    assert.equal(again.fingerprint, 6n);
  });

  test("refuses a fingerprint that the catalog can't hold, before it makes anything", async () => {
    const { store, backend } = await openEngine();
    await assert.rejects(store.job(JOB, { fingerprint: -1n }), RangeError);
    assert.deepEqual(await keysBelow(backend, "jobs/"), []);
    assert.equal((await store.job(JOB)).fingerprint, 0n);
  });

  test("opens anew what was closed, or fenced by another", async () => {
    const objects = newMemory();
    const { store } = await openEngine(objects);
    const job = await store.job(JOB);
    await appendDurably(job, "w", "a");
    await openJobOn(objects);
    append(job, "w", "b");
    await rejectsWith(job.writer("w").persist(), "fenced");
    const again = await store.job(JOB);
    assert.notEqual(again, job);
    assert.equal(again.epoch, 3);
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
  });

  test("opens anew while it is being closed, whatever becomes of that", async () => {
    const { store, backend } = await openEngine();
    const job = await store.job(JOB);
    append(job, "w", "a");
    backend.fail({ kind: "sync", key: CHANGE_FILE, times: 9 });
    const closed = job.close();
    const again = store.job(JOB);
    await rejectsWith(closed, "storage-unavailable");
    backend.mend();
    assert.equal((await again).epoch, 2);
  });

  test("can be tried again after an open that failed", async () => {
    const { store, backend } = await openEngine();
    backend.fail({ kind: "putIfAbsent", key: /\/owners\// });
    await rejectsWith(store.job(JOB), "storage-unavailable");
    assert.equal((await store.job(JOB)).epoch, 1);
  });

  test("lets go of its lock when an open fails, so that others can try", async () => {
    const disk = new ForgettingDisk();
    const { store, backend } = await openEngine(posixOn(disk));
    backend.fail({ kind: "putIfAbsent", key: /\/owners\// });
    await rejectsWith(store.job(JOB), "storage-unavailable");
    const { job } = await openJobOn(posixOn(disk));
    assert.deepEqual(job.recovery.warnings, []);
  });

  test("logs that it took the job from an owner that may live on another machine", async () => {
    const disk = new ForgettingDisk();
    await openJobOn(posixOn(disk));
    const process = fixedProcessInfo({ hostName: "other", bootId: "boot-2" });
    const { job, ports } = await openJobOn(posixOn(disk, { process }));
    const { warnings } = job.recovery;
    assert.match(warnings.join(), /another machine or an earlier boot of this one/);
    const logged = ports.logger.records.filter(({ level }) => level === "warning");
    assert.deepEqual(
      logged.map(({ message, fields }) => [message, fields]),
      [[warnings[0], { job: JOB }]],
    );
  });

  test("makes no job when it is told not to", async () => {
    const { store, backend } = await openEngine();
    const error = await rejectsWith(store.job(JOB, { create: false }), "job-not-found");
    assert.deepEqual(error.details, { job: JOB });
    assert.deepEqual(await keysBelow(backend, "jobs/"), []);
    await (await store.job(JOB)).close();
    assert.equal((await store.job(JOB, { create: false })).epoch, 2);
  });

  test("refuses names that are none, and any in mode read", async () => {
    const objects = newMemory();
    const { store } = await openJobOn(objects);
    for (const name of ["", "a/b", "..", "x".repeat(129)]) {
      await rejectsWith(store.job(name), "invalid-name");
    }
    const reading = await openEngine(objects, { mode: "read" });
    const error = await rejectsWith(reading.store.job(JOB), "read-only");
    assert.deepEqual(error.details, { job: JOB });
  });

  test("lists jobs that were published, in order", async () => {
    const { store, backend } = await openEngine();
    for (const name of ["b", "a.2", "a"]) await store.job(name);
    await backend.put("jobs/half-made/owners/00000000000000000001.json", new Uint8Array(1));
    assert.deepEqual(await store.jobs(), ["a", "a.2", "b"]);
  });

  test("is busy while another process of this machine has it, unless it is taken over", async () => {
    const disk = new ForgettingDisk();
    const { store } = await openJobOn(posixOn(disk));
    const error = await rejectsWith(openJobOn(posixOn(disk)), "job-busy");
    assert.ok(error.retryable);
    const { job } = await openJobOn(posixOn(disk), {}, { takeOver: true });
    assert.equal(job.epoch, 2);
    await store.close();
  });
});

describe("Store.close", () => {
  test("closes every job, flushing it, and is idempotent", async () => {
    const objects = newMemory();
    const { store, backend } = await openEngine(objects);
    for (const name of ["a", "b"]) append(await store.job(name), "w", `of ${name}`);
    const closed = store.close();
    assert.equal(store.close(), closed);
    await closed;
    await store[Symbol.asyncDispose]();
    assert.equal(backend.keysOf("close").length, 1);
    const { store: again } = await openEngine(objects);
    for (const name of ["a", "b"]) {
      assert.deepEqual(await restoreWriter(await again.job(name), "w"), [`of ${name}`]);
    }
  });

  test("refuses everything afterwards", async () => {
    const { store } = await openJobOn();
    const closed = store.close();
    await rejectsWith(store.job(JOB), "closed");
    await rejectsWith(store.reader(JOB), "closed");
    await rejectsWith(store.jobs(), "closed");
    await closed;
  });

  test("closes a job that is still being opened", async () => {
    const { store, backend } = await openEngine();
    const held = backend.hold({ kind: "putIfAbsent", key: /\/owners\// });
    const opening = store.job(JOB);
    await held.reached;
    const closed = store.close();
    held.release();
    const job = await opening;
    await closed;
    await rejectsWith(job.checkpoint(), "closed");
    assert.deepEqual(backend.keysOf("closePin"), backend.keysOf("pin"));
  });

  test("does not tell again of an open that failed", async () => {
    const { store, backend } = await openEngine();
    const held = backend.hold({ kind: "putIfAbsent", key: /\/owners\// });
    backend.fail({ kind: "putIfAbsent", key: /\/owners\// });
    const opening = store.job(JOB);
    await held.reached;
    const closed = store.close();
    held.release();
    await rejectsWith(opening, "storage-unavailable");
    await closed;
  });

  test("tells what could not be made durable, after letting go of everything", async () => {
    const { store, backend } = await openEngine();
    for (const name of ["a", "b", "c"]) append(await store.job(name), "w", "x");
    backend.fail({ kind: "sync", key: /jobs\/[ab]\/changelog/, times: 99 });
    await assert.rejects(store.close(), (error) => {
      assert.ok(error instanceof AggregateError);
      assert.equal(error.errors.length, 2);
      return true;
    });
    assert.equal(backend.keysOf("close").length, 1);
    assert.equal(backend.keysOf("closePin").length, 3);
  });
});
