import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  appendDurably,
  changeFiles,
  flip,
  JOB,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  rewrite,
} from "../_engine.ts";

/** Two checkpoints, of which the newer needs a file that the older does not. */
async function twoCheckpoints() {
  const engine = await openJobOn();
  const { job, backend } = engine;
  await appendDurably(job, "w", "one");
  const older = (await job.checkpoint()).uuid;
  await job.resume({ at: "latest" });
  await appendDurably(job, "w", "two");
  const newer = (await job.checkpoint()).uuid;
  const [olderFile, newerFile] = await changeFiles(backend);
  return { ...engine, older, newer, olderFile, newerFile };
}

describe("a checkpoint that can't be read", () => {
  test("stops a restore by default, and lets it go to the next older one where asked", async () => {
    const { job, backend, newerFile, ports } = await twoCheckpoints();
    await rewrite(backend, newerFile, (bytes) => flip(bytes.length - 30)(bytes));
    await rejectsWith(restore(job), "corrupt");
    assert.deepEqual((await restore(job, { fallback: true })).changes, { w: ["one"] });
    assert.match(ports.logger.records.at(-1)!.message, /falling back to an older one/);
  });

  test("does the same beside the owner", async () => {
    const { backend, newerFile } = await twoCheckpoints();
    await rewrite(backend, newerFile, (bytes) => flip(bytes.length - 30)(bytes));
    const { store } = await openEngine(backend, { mode: "read" });
    const reader = await store.reader(JOB);
    await rejectsWith(restore(reader), "corrupt");
    assert.deepEqual((await restore(reader, { fallback: true })).changes, { w: ["one"] });
  });

  test("is passed by at a resume, with a new line from the older one", async () => {
    const { job, backend, older, newer } = await twoCheckpoints();
    await rewrite(backend, `jobs/${JOB}/checkpoints/${newer}.json`, flip(200));
    await rejectsWith(job.resume(), "corrupt");
    await appendDurably(job, "w", "the run goes on");
    const { checkpoint, writers } = await job.resume({ fallback: true });
    assert.equal(checkpoint?.uuid, older);
    assert.deepEqual(writers.map(({ nextOffset }) => nextOffset), [1]);
  });

  test("is told with its reason when no older one is whole either", async () => {
    const { job, backend, older, newer, olderFile } = await twoCheckpoints();
    await rewrite(backend, olderFile, (bytes) => bytes.slice(0, 50));
    const error = await rejectsWith(restore(job, { fallback: true }), "corrupt");
    assert.match(error.message, new RegExp(`${newer}: .*; ${older}: .*cut to 50 bytes`));
  });
});

describe("a job that can't be recovered", () => {
  test("is opened from an older checkpoint where asked, when its head can't be read", async () => {
    const { store, backend, older, newer } = await twoCheckpoints();
    await store.close();
    await rewrite(backend, `jobs/${JOB}/checkpoints/${newer}.json`, flip(200));
    const { store: again, ports } = await openEngine(backend);
    await rejectsWith(again.job(JOB), "corrupt");
    const job = await again.job(JOB, { fallback: true });
    assert.match(ports.logger.records.map(({ message }) => message).join(), /Gives the tail up/);
    assert.equal((await job.checkpointDetails("latest")).uuid, older);
    await appendDurably(job, "w", "three");
    await job.checkpoint();
    await again.close();
    const { job: next } = await openJobOn(backend);
    assert.deepEqual((await restore(next, { at: "tail" })).changes, { w: ["one", "three"] });
  });

  test("is opened from its head where asked, when its tail is bad", async () => {
    const { store, job, backend, newer } = await twoCheckpoints();
    await appendDurably(job, "w", "tail");
    await job.resume({ at: "tail" });
    await appendDurably(job, "w", "more");
    await store.close();
    const file = (await changeFiles(backend)).at(-2)!;
    await rewrite(backend, file, (bytes) => flip(bytes.length - 200)(bytes));
    const { store: again } = await openEngine(backend);
    await rejectsWith(again.job(JOB), "corrupt");
    const opened = await again.job(JOB, { fallback: true });
    assert.equal((await opened.checkpointDetails("latest")).uuid, newer);
    assert.deepEqual((await restore(opened, { at: "tail" })).changes, { w: ["one", "two"] });
    await appendDurably(opened, "w", "three");
    await again.close();
    const { job: next } = await openJobOn(backend);
    assert.deepEqual((await restore(next, { at: "tail" })).changes, { w: ["one", "two", "three"] });
  });

  test("gives nothing up because the storage does not answer", async () => {
    const { store, job, backend } = await twoCheckpoints();
    await appendDurably(job, "w", "tail");
    await store.close();
    for (const key of [/\/checkpoints\//, /\/changelog\//]) {
      const { store: again, backend: failing } = await openEngine(backend);
      failing.fail({ kind: "get", key });
      await rejectsWith(again.job(JOB, { fallback: true }), "storage-unavailable");
      failing.mend();
      const opened = await again.job(JOB, { fallback: true });
      const { changes } = await restore(opened, { at: "tail" });
      assert.deepEqual(changes, { w: ["one", "two", "tail"] });
      await again.close();
    }
  });

  test("is not opened when nothing is whole", async () => {
    const { store, backend, older, newer } = await twoCheckpoints();
    await store.close();
    for (const uuid of [older, newer]) {
      await rewrite(backend, `jobs/${JOB}/checkpoints/${uuid}.json`, flip(200));
    }
    const { store: again } = await openEngine(backend);
    await rejectsWith(again.job(JOB, { fallback: true }), "corrupt");
  });
});
