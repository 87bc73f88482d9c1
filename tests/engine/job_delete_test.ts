/** Deleting a whole job: what goes, what stays, who stands in the way. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { JobDeletion } from "../../src/engine/types.ts";
import {
  append,
  appendDurably,
  bytesOf,
  imageOf,
  JOB,
  type JobEngine,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restoreWriter,
} from "./_engine.ts";
import { copies, newPlaces, openLocalJob } from "./_local_engine.ts";

/** A job with two checkpoints, one pinned, a state, a tail, and something of the pipeline's own. */
async function openFullJob(objects: MemoryBackend = newMemory()): Promise<JobEngine> {
  const engine = await openJobOn(objects);
  append(engine.job, "totals", "a", "b");
  const { uuid } = await engine.job.checkpoint({ states: { sums: bytesOf("1") } });
  await engine.job.pin(uuid);
  append(engine.job, "totals", "c");
  await engine.job.checkpoint();
  await appendDurably(engine.job, "totals", "d");
  await objects.put(`jobs/${JOB}/private/notes`, bytesOf("mine"));
  return engine;
}

async function foldersOf(objects: MemoryBackend): Promise<string[]> {
  const folders = (await keysBelow(objects, `jobs/${JOB}/`)).map((key) => key.split("/")[2]);
  return [...new Set(folders)].sort();
}

describe("deleteJob", () => {
  test("deletes all that the engine made, and answers what", async () => {
    const objects = newMemory();
    const { store } = await openFullJob(objects);
    const deletion: JobDeletion = await store.deleteJob(JOB);
    assert.deepEqual({ ...deletion, deletedObjects: 0, deletedBytes: 0 }, {
      job: JOB,
      checkpoints: 2,
      deletedObjects: 0,
      deletedBytes: 0,
      problems: [],
    });
    assert.ok(deletion.deletedObjects > 4 && deletion.deletedBytes > 1000);
    assert.deepEqual(await foldersOf(objects), ["catalog", "owners", "private"]);
    assert.equal((await keysBelow(objects, `jobs/${JOB}/catalog/`)).length, 1);
  });

  test("leaves no job to list, open, read, salvage, or delete again", async () => {
    const objects = newMemory();
    const { store } = await openFullJob(objects);
    await store.deleteJob(JOB);
    for (const next of [store, (await openEngine(objects)).store]) {
      assert.deepEqual(await next.jobs(), []);
      await rejectsWith(next.job(JOB, { create: false }), "job-not-found");
      await rejectsWith(next.reader(JOB), "job-not-found");
      await rejectsWith(next.salvage(JOB), "job-not-found");
      await rejectsWith(next.deleteJob(JOB), "job-not-found");
    }
  });

  test("frees the name: epochs, runs and generations count on, and nothing else comes along", async () => {
    const objects = newMemory();
    const { store, job: old } = await openFullJob(objects);
    const { epoch, run } = old;
    await store.deleteJob(JOB);
    const job = await store.job(JOB, { fingerprint: 7n });
    assert.ok(job.epoch > epoch + 1);
    assert.deepEqual([job.run, job.fingerprint], [run + 1, 7n]);
    assert.deepEqual([await job.checkpoints(), await job.writers()], [[], []]);
    await appendDurably(job, "totals", "new");
    assert.deepEqual(await restoreWriter(job, "totals"), ["new"]);
    assert.deepEqual(await store.jobs(), [JOB]);
  });

  test("a run of the deleted job appends nothing to the new one", async () => {
    const { store, job: old } = await openFullJob();
    await store.deleteJob(JOB);
    const job = await store.job(JOB);
    const late = () =>
      job.writer("totals").appendAt(0, { bytes: bytesOf(""), count: 0 } as never, {
        run: old.run,
      });
    await rejectsWith(async () => await late(), "fenced");
  });

  test("ends the job in this process: what waits fails as closed", async () => {
    const { store, job, backend } = await openFullJob();
    const held = backend.hold({ kind: "sync" });
    append(job, "totals", "late");
    const waiting = rejectsWith(job.writer("totals").persist(), "closed");
    await held.reached;
    const deleted = store.deleteJob(JOB);
    await waiting;
    held.release();
    await deleted;
    await rejectsWith(job.checkpoint(), "closed");
  });

  test("fences an owner elsewhere, where it is taken over", async () => {
    const objects = newMemory();
    const { job } = await openFullJob(objects);
    const { store } = await openEngine(objects);
    await store.deleteJob(JOB, { takeOver: true });
    append(job, "totals", "late");
    await rejectsWith(job.writer("totals").persist(), "fenced");
    await rejectsWith(job.checkpoint(), "fenced");
    assert.deepEqual(await store.jobs(), []);
  });

  test("waits for no reader: it refuses, and changes nothing", async () => {
    const objects = newMemory();
    const { store } = await openFullJob(objects);
    await (await store.job(JOB)).close();
    const reader = await (await openEngine(objects, { mode: "read" })).store.reader(JOB);
    const stream = reader.restore({ at: "latest" })[Symbol.asyncIterator]();
    await stream.next();
    const before = await imageOf(objects);
    await rejectsWith(store.deleteJob(JOB), "job-busy");
    assert.deepEqual(await imageOf(objects), before);
    await stream.return?.();
    await store.deleteJob(JOB);
  });

  test("a restore in this process stands in the way as well, and the job goes on", async () => {
    const { store, job } = await openFullJob();
    const stream = job.restore({ at: "tail" })[Symbol.asyncIterator]();
    await stream.next();
    await rejectsWith(store.deleteJob(JOB), "job-busy");
    await stream.return?.();
    await appendDurably(job, "totals", "e");
    await store.deleteJob(JOB);
  });

  test("a reader that is taken over ends with snapshot-expired", async () => {
    const objects = newMemory();
    const { store, job } = await openFullJob(objects);
    await job.close();
    const again = await store.job(JOB);
    append(again, "totals", "another file");
    await again.checkpoint();
    const reader = await (await openEngine(objects, { mode: "read" })).store.reader(JOB);
    const restored = reader.restore({ at: "latest" })[Symbol.asyncIterator]();
    await restored.next();
    await store.deleteJob(JOB, { takeOver: true });
    await rejectsWith(async () => {
      while ((await restored.next()).done !== true);
    }, "snapshot-expired");
    await rejectsWith(reader.checkpoints(), "job-not-found");
  });

  test("an aborted signal leaves the job as it is", async () => {
    const objects = newMemory();
    const { store, job } = await openFullJob(objects);
    const before = await imageOf(objects);
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(store.deleteJob(JOB, { signal }), /enough/);
    assert.deepEqual(await imageOf(objects), before);
    await appendDurably(job, "totals", "e");
  });

  test("what is stopped half-way is deleted all the same, and ended by the next deletion", async () => {
    const objects = newMemory();
    const { store } = await openFullJob(objects);
    const stop = new AbortController();
    const onProgress = ({ done }: { done: number }) =>
      done === 2 && stop.abort(new Error("enough"));
    const stopped = store.deleteJob(JOB, { signal: stop.signal, onProgress });
    await assert.rejects(stopped, /enough/);
    assert.deepEqual(await store.jobs(), []);
    await rejectsWith(store.reader(JOB), "job-not-found");
    const rest = await store.deleteJob(JOB);
    assert.ok(rest.checkpoints === 0 && rest.deletedObjects > 0);
    assert.deepEqual(await foldersOf(objects), ["catalog", "owners", "private"]);
  });

  test("a new job takes nothing of what a deletion left", async () => {
    const objects = newMemory();
    const { store, backend } = await openFullJob(objects);
    backend.fail({ kind: "delete", key: /changelog/, times: 2 });
    const { problems } = await store.deleteJob(JOB);
    assert.equal(problems.length, 1);
    const { message } = await rejectsWith(store.job(JOB), "storage-unavailable");
    assert.match(message, /is left of the one that was deleted/);
    assert.deepEqual(await store.jobs(), []);
    const job = await store.job(JOB);
    assert.deepEqual([await job.checkpoints(), await job.writers()], [[], []]);
    const own = await keysBelow(objects, `jobs/${JOB}/changelog/`);
    assert.deepEqual(own, []);
  });

  test("a job that can't be closed cleanly is deleted all the same", async () => {
    const { store, backend } = await openFullJob();
    backend.fail({ kind: "closePin" });
    await store.deleteJob(JOB);
    assert.deepEqual(await store.jobs(), []);
  });

  test("local copies of its change files go as well", async () => {
    const places = newPlaces();
    const { store, job } = await openLocalJob(places);
    append(job, "totals", "a");
    await job.checkpoint();
    await job.resume({ at: "tail" });
    assert.ok((await copies(places)).length > 0);
    await store.deleteJob(JOB);
    assert.deepEqual(await copies(places), []);
  });

  test("local copies that can't be removed do not hold it up, and go with the next job", async () => {
    const places = newPlaces();
    const { store, job, local } = await openLocalJob(places);
    append(job, "totals", "a");
    await job.checkpoint();
    await copies(places);
    local.fail({ kind: "delete", times: 100 });
    await store.deleteJob(JOB);
    assert.ok((await copies(places)).length > 0);
    local.mend();
    await store.job(JOB);
    assert.deepEqual(await copies(places), []);
  });

  test("of a job whose catalog is lost nothing is touched", async () => {
    const objects = newMemory();
    const { store, job } = await openFullJob(objects);
    await job.close();
    for (const key of await keysBelow(objects, `jobs/${JOB}/catalog/`)) await objects.delete(key);
    const before = await imageOf(objects);
    await rejectsWith(store.deleteJob(JOB), "catalog-lost");
    assert.deepEqual(await imageOf(objects), before);
    assert.deepEqual(await store.jobs(), [JOB]);
  });

  test("is refused where a store is open for reading, and where there is no job", async () => {
    const objects = newMemory();
    await openFullJob(objects);
    const { store } = await openEngine(objects, { mode: "read" });
    await rejectsWith(store.deleteJob(JOB), "read-only");
    const own = await openEngine(objects);
    await rejectsWith(own.store.deleteJob("none"), "job-not-found");
    await rejectsWith(own.store.deleteJob("../x"), "invalid-name");
    assert.deepEqual(await keysBelow(objects, "jobs/none/"), []);
  });

  test("whoever opens it meanwhile gets the new job", async () => {
    const { store } = await openFullJob();
    const deleted = store.deleteJob(JOB);
    const [job] = await Promise.all([store.job(JOB), deleted]);
    assert.deepEqual([await job.writers(), job.run], [[], 2]);
  });
});
