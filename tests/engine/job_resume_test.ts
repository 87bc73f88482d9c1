import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readNewestGeneration } from "../../src/engine/checkpoint/catalog_read.ts";
import { JobKeys } from "../../src/engine/paths.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changesOf,
  GENERATION,
  hasSettled,
  JOB,
  keysBelow,
  MANIFEST,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
  restoreWriter,
  throwsWith,
} from "./_engine.ts";

describe("Job.resume", () => {
  test("fences the checkpoints that an older run still asks for, also under a key", async () => {
    const { job } = await openJobOn();
    append(job, "w", "a");
    const request = { run: 1, idempotencyKey: "a", metadata: { at: 1 } };
    await job.checkpoint(request);
    const { run } = await job.resume();
    append(job, "w", "b");
    await rejectsWith(job.checkpoint(request), "fenced");
    await rejectsWith(job.checkpoint({ run: 1 }), "fenced");
    assert.equal((await job.checkpoints()).length, 1);
    await job.checkpoint({ run });
    assert.equal((await job.checkpoints()).length, 2);
  });

  test("at latest rewinds to the newest checkpoint, with its metadata", async () => {
    const { job } = await openJobOn();
    append(job, "w", "a");
    await job.checkpoint({ metadata: { at: 1 } });
    await appendDurably(job, "w", "b");
    await appendDurably(job, "v", "x");
    const { run, epoch, checkpoint, writers } = await job.resume();
    assert.deepEqual([run, epoch], [2, 2]);
    assert.deepEqual([job.run, job.epoch], [2, 2]);
    assert.deepEqual(checkpoint?.metadata, { at: 1 });
    assert.deepEqual(writers, [{ writer: "w", nextOffset: 1, sequenceNumber: 1 }]);
    assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["a"] });
  });

  test("at latest without a checkpoint rewinds to nothing", async () => {
    const { job } = await openJobOn();
    await appendDurably(job, "w", "a");
    const result = await job.resume();
    const dropped = [{ writer: "w", from: 0, to: 1 }];
    assert.deepEqual(result, { run: 2, epoch: 2, writers: [], dropped });
    assert.deepEqual((await restore(job, { at: "tail" })).changes, {});
    await appendDurably(job, "w", "b");
    assert.deepEqual(await restoreWriter(job, "w"), ["b"]);
  });

  test("at the tail keeps everything, also what was not yet durable", async () => {
    const { job } = await openJobOn();
    append(job, "w", "a");
    await job.checkpoint();
    append(job, "w", "b");
    const { checkpoint, writers } = await job.resume({ at: "tail" });
    assert.equal(checkpoint, undefined);
    assert.deepEqual(writers, [{ writer: "w", nextOffset: 2, sequenceNumber: 2 }]);
    append(job, "w", "c");
    await job.checkpoint();
    assert.deepEqual(await restoreWriter(job, "w", "latest"), ["a", "b", "c"]);
  });

  test("goes back to any checkpoint and on again; each stays as it was", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    const texts = new Map<string, string[]>();
    const make = async (...added: string[]): Promise<string> => {
      const before = await restoreWriter(job, "w");
      append(job, "w", ...added);
      const { uuid } = await job.checkpoint();
      texts.set(uuid, [...before, ...added]);
      return uuid;
    };
    const a = await make("a");
    const b = await make("b", "b2");
    await job.resume({ at: a });
    const c = await make("c");
    await job.resume({ at: b });
    const d = await make("d");
    await job.resume({ at: c });
    const e = await make("e");
    assert.deepEqual(texts.get(e), ["a", "c", "e"]);
    const { job: again } = await openJobOn(objects);
    for (const [uuid, wanted] of texts) {
      assert.deepEqual(await restoreWriter(again, "w", uuid), wanted);
    }
    assert.deepEqual(await restoreWriter(again, "w"), ["a", "c", "e"]);
    const all = await again.checkpoints();
    assert.deepEqual(all.map(({ parent }) => parent), [undefined, a, a, b, c]);
    const abandoned = all.filter(({ isAbandoned }) => isAbandoned).map(({ uuid }) => uuid);
    assert.deepEqual(abandoned, [b, d]);
    assert.deepEqual(all.filter(({ isHead }) => isHead).map(({ uuid }) => uuid), [e]);
    assert.deepEqual((await again.verify()).problems, []);
  });

  test("refuses a checkpoint that it does not know, and goes on as before", async () => {
    const { job } = await openJobOn();
    await rejectsWith(job.resume({ at: "nothing" }), "checkpoint-not-found");
    assert.equal(job.run, 1);
    await appendDurably(job, "w", "a");
  });

  test("refuses a checkpoint of another fingerprint unless it is accepted", async () => {
    const objects = newMemory();
    const { job: old, store } = await openJobOn(objects, {}, { fingerprint: 5n });
    append(old, "w", "a");
    const { uuid } = await old.checkpoint();
    await store.close();
    const { job } = await openJobOn(objects, {}, { fingerprint: 6n });
    assert.equal(job.fingerprint, 6n);
    const error = await rejectsWith(job.resume(), "fingerprint-mismatch");
    assert.deepEqual([error.details.found, error.details.wanted], [5n, 6n]);
    await rejectsWith(job.resume({ at: uuid, acceptFingerprints: [7n] }), "fingerprint-mismatch");
    await appendDurably(job, "w", "still running");
    const { checkpoint } = await job.resume({ at: uuid, acceptFingerprints: [7n, 5n] });
    assert.equal(checkpoint?.fingerprint, 5n);
    assert.equal((await job.checkpoint()).fingerprint, 6n);
    await job.resume({ at: "tail" });
  });

  test("opens at its tail, not at a checkpoint, and keeps the fingerprint that it has", async () => {
    const objects = newMemory();
    const { job: old, store } = await openJobOn(objects, {}, { fingerprint: 5n });
    append(old, "w", "a");
    await old.checkpoint();
    await appendDurably(old, "w", "b");
    await store.close();
    const { job } = await openJobOn(objects);
    assert.deepEqual([job.fingerprint, job.run, job.epoch], [5n, 1, 2]);
    assert.equal(job.writer("w").nextOffset, 2);
  });
});

describe("Job.resume and what is under way", () => {
  test("fences the writers of the run before", async () => {
    const { job } = await openJobOn();
    const old = job.writer("w");
    append(job, "w", "a");
    await job.checkpoint();
    await job.resume();
    for (const action of [() => old.append(0, new Uint8Array(1)), () => old.nextSequenceNumber()]) {
      const error = throwsWith(action, "fenced");
      assert.match(error.message, /run 1/i);
    }
    await rejectsWith(old.persist(), "fenced");
    await rejectsWith(old.appendAt(1, changesOf("b"), { run: 1 }), "fenced");
    assert.equal(job.writer("w").nextOffset, 1);
  });

  test("fences appends of an older run, and wants one with an offset from then on", async () => {
    const { job } = await openJobOn();
    await job.writer("w").appendAt(0, changesOf("a"));
    await job.checkpoint();
    await job.resume();
    const writer = job.writer("w");
    const missing = await rejectsWith(writer.appendAt(1, changesOf("b")), "run-required");
    assert.equal(missing.details.currentRun, 2);
    const older = await rejectsWith(writer.appendAt(1, changesOf("b"), { run: 1 }), "fenced");
    assert.equal(older.details.currentRun, 2);
    await rejectsWith(writer.appendAt(1, changesOf("b"), { run: 3 }), "fenced");
    assert.equal((await writer.appendAt(1, changesOf("b"), { run: 2 })).nextOffset, 2);
    assert.equal((await writer.appendAt(undefined, changesOf("c"))).nextOffset, 3);
    assert.equal((await writer.appendAt(0, changesOf("a"), { run: 2 })).nextOffset, 1);
  });

  test("settles what waits, with an unknown outcome, without waiting for the disk", async () => {
    const { job, backend } = await openJobOn();
    await job.checkpoint();
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "a");
    const persisted = job.writer("w").persist();
    await held.reached;
    const resumed = job.resume();
    const error = await rejectsWith(persisted, "fenced");
    assert.equal(error.outcome, "unknown");
    await resumed;
    await appendDurably(job, "w", "b");
    held.release();
    await hasSettled(Promise.resolve());
    assert.deepEqual(await restoreWriter(job, "w"), ["b"]);
    await job.close();
    assert.deepEqual(await openFiles(backend), [], "a file stays open for ever");
  });

  test("at the tail waits for what is in flight", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "a");
    const persisted = job.writer("w").persist();
    await held.reached;
    const resumed = job.resume({ at: "tail" });
    assert.equal(await hasSettled(resumed), false);
    held.release();
    await persisted;
    assert.equal((await resumed).writers[0].nextOffset, 1);
  });

  test("at the tail fails when the disk does, and the job goes on in its run", async () => {
    const { job, backend } = await openJobOn();
    append(job, "w", "a");
    backend.fail({ kind: "sync", key: CHANGE_FILE });
    await rejectsWith(job.resume({ at: "tail" }), "storage-unavailable");
    assert.equal(job.run, 1);
    await job.writer("w").persist();
    assert.deepEqual(await restoreWriter(job, "w"), ["a"]);
  });

  test("does not take back into the tail what lands late", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    append(job, "w", "a");
    await job.checkpoint();
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "late");
    const persisted = job.writer("w").persist();
    await held.reached;
    await Promise.all([rejectsWith(persisted, "fenced"), job.resume()]);
    held.release();
    await hasSettled(Promise.resolve());
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
    await appendDurably(again, "w", "b");
    const { job: third } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(third, "w"), ["a", "b"]);
  });

  test("cancels a checkpoint that is in preparation", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "sync", key: CHANGE_FILE });
    append(job, "w", "a");
    const made = job.checkpoint();
    await held.reached;
    const resumed = job.resume();
    await rejectsWith(made, "fenced");
    await resumed;
    held.release();
    assert.deepEqual(await job.checkpoints(), []);
    assert.deepEqual(await keysBelow(backend, "jobs/orders/checkpoints/"), []);
  });

  test("waits for a checkpoint that is being published, and goes on from it", async () => {
    const { job, backend } = await openJobOn();
    const held = backend.hold({ kind: "putIfAbsent", key: MANIFEST });
    append(job, "w", "a");
    const made = job.checkpoint();
    await held.reached;
    const resumed = job.resume();
    held.release();
    const [checkpoint] = await Promise.allSettled([made]);
    const result = await resumed;
    const [listed] = await job.checkpoints();
    assert.equal(result.checkpoint?.uuid, listed?.uuid);
    assert.equal(checkpoint.status, "rejected");
  });

  test("refuses checkpoints that were asked for before the pipeline knows where it starts", async () => {
    const { job } = await openJobOn();
    const resumed = job.resume();
    await rejectsWith(job.checkpoint({ metadata: "of the run before" }), "fenced");
    await resumed;
    assert.deepEqual(await job.checkpoints(), []);
  });

  test("twice at once gives the job to one of them", async () => {
    const { job } = await openJobOn();
    const results = await Promise.allSettled([job.resume(), job.resume()]);
    assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected"]);
    assert.equal(job.run, 2);
    await appendDurably(job, "w", "a");
  });

  test("is refused once the job is being closed", async () => {
    const { job, store } = await openJobOn();
    const closing = job.close();
    await rejectsWith(job.resume(), "closed");
    await closing;
    await rejectsWith(job.resume(), "closed");
    const again = await store.job(JOB);
    assert.equal(again.epoch, 2);
  });
});

describe("Job.resume that fails half-way", () => {
  test("closes the job; opening it again goes on", async () => {
    const { job, store, backend } = await openJobOn();
    append(job, "w", "a");
    await job.checkpoint();
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(job.resume(), "storage-unavailable");
    const error = throwsWith(() => job.writer("w"), "closed");
    assert.equal(
      (error.cause as Error).message,
      "Cannot putIfAbsent " +
        `${new JobKeys(JOB).generation(4)}: made by a test`,
    );
    await rejectsWith(job.checkpoint(), "closed");
    const again = await store.job(JOB);
    assert.notEqual(again, job);
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
    assert.equal(again.run, 1);
    assert.deepEqual(pinsOf(backend).open, [new JobKeys(JOB).owner(again.epoch)]);
  });

  test("has resumed when only its answer was lost", async () => {
    const objects = newMemory();
    const { job, backend, store } = await openJobOn(objects);
    append(job, "w", "a");
    await job.checkpoint();
    await appendDurably(job, "w", "b");
    backend.fail({ kind: "putIfAbsent", key: GENERATION, when: "after" });
    const { run } = await job.resume();
    assert.equal(run, 2);
    const place = { backend, keys: new JobKeys(JOB), store: store.id };
    assert.equal((await readNewestGeneration(place))?.run, 2);
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), ["a"]);
  });

  test("is fenced when somebody else took the next epoch", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    const { job: other } = await openJobOn(objects);
    await rejectsWith(job.resume(), "fenced");
    throwsWith(() => job.writer("w"), "fenced");
    await appendDurably(other, "w", "a");
  });
});

/** Keys of change files that were created and not closed. */
function openFiles(
  backend: { keysOf(kind: "createAppender" | "closeAppender"): string[] },
): string[] {
  const closed = new Set(backend.keysOf("closeAppender"));
  return backend.keysOf("createAppender").filter((key) => !closed.has(key));
}

/** Owner keys that are held. */
function pinsOf(backend: { keysOf(kind: "pin" | "closePin"): string[] }): { open: string[] } {
  const closed = new Set(backend.keysOf("closePin"));
  return { open: backend.keysOf("pin").filter((key) => !closed.has(key)) };
}
