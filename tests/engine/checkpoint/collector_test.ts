import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../../src/engine/types.ts";
import {
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  flip,
  GENERATION,
  JOB,
  keysBelow,
  MANIFEST,
  newMemory,
  openJobOn,
  rejectsWith,
  restore,
  restoreWriter,
  rewrite,
  textOf,
} from "../_engine.ts";

const AT_ONCE = { quarantineMs: 0 };

/** What looks at every checkpoint, one after another. */
const LOOKS: Readonly<Record<string, (job: Job) => Promise<unknown>>> = {
  "a verify": async (job) => assert.deepEqual((await job.verify()).problems, []),
  "a count of the usage": (job) => job.usage(),
  "a show of details": async (job) => await job.checkpointDetails((await uuids(job))[0]),
  "a resume": async (job) => {
    const [oldest] = await uuids(job);
    assert.equal((await job.resume({ at: oldest })).checkpoint?.uuid, oldest);
  },
  "a fallback": async (job) => {
    const [oldest] = await uuids(job);
    assert.deepEqual((await restore(job, { at: oldest, fallback: true })).changes, {
      w: ["change 0"],
    });
  },
};

/** Gives up all that the writer has by now, with the next checkpoint. */
function truncate(job: Job): void {
  const writer = job.writer("w");
  writer.truncate(writer.nextSequenceNumber());
}

async function uuids(job: Job): Promise<string[]> {
  return (await job.checkpoints()).map(({ uuid }) => uuid);
}

async function checkpoints(job: Job, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    await appendDurably(job, "w", `change ${i}`);
    made.push((await job.checkpoint()).uuid);
  }
  return made;
}

describe("Job.collect", () => {
  test("deletes the manifests of what goes, and leaves every other checkpoint whole", async () => {
    const { job, backend } = await openJobOn();
    await checkpoints(job, 5);
    const { objects, removed } = await job.collect(AT_ONCE);
    assert.equal(removed.length, 3);
    const deleted = objects.filter(({ action }) => action === "delete").map(({ key }) => key);
    assert.deepEqual(deleted, removed.map((uuid) => `jobs/${JOB}/checkpoints/${uuid}.json`).sort());
    assert.equal((await keysBelow(backend, `jobs/${JOB}/checkpoints/`)).length, 2);
    for (const uuid of await uuids(job)) await restore(job, { at: uuid });
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("lets what goes rest first, and removes it after the quarantine", async () => {
    const { job, ports } = await openJobOn();
    const [first] = await checkpoints(job, 3);
    const { removed, quarantined } = await job.collect();
    assert.deepEqual([removed, quarantined], [[], [first]]);
    assert.equal((await restore(job, { at: first })).changes.w.length, 1);
    await ports.clock.advance(600_000);
    assert.deepEqual((await job.collect()).removed, [first]);
    await rejectsWith(restore(job, { at: first }), "checkpoint-not-found");
  });

  test("says what it would do, and does nothing", async () => {
    const { job, backend } = await openJobOn();
    const [first] = await checkpoints(job, 3);
    const before = await keysBelow(backend);
    const report = await job.collect({ ...AT_ONCE, dryRun: true });
    assert.deepEqual(report.removed, [first]);
    assert.match(report.verdicts[0].reason, /beyond the newest 2/);
    assert.match(report.verdicts[2].reason, /one of the newest 2/);
    assert.deepEqual(await keysBelow(backend), before);
    assert.equal((await uuids(job)).length, 3);
  });

  test("deletes the change files of a line that was left, once nothing needs them", async () => {
    const { job, backend } = await openJobOn();
    const [first] = await checkpoints(job, 1);
    await job.resume({ at: "latest" });
    const [left] = await checkpoints(job, 1);
    const abandoned = (await changeFiles(backend)).at(-1)!;
    await job.resume({ at: first });
    await checkpoints(job, 1);
    await job.collect(AT_ONCE);
    assert.ok((await uuids(job)).includes(left), "abandoned ones stay for some days");
    assert.ok((await changeFiles(backend)).includes(abandoned));
    assert.deepEqual(await restoreWriter(job, "w", left), ["change 0", "change 0"]);
  });

  test("deletes the files of an abandoned checkpoint that has gone", async () => {
    const { job, backend, ports } = await openJobOn();
    const [first] = await checkpoints(job, 1);
    await job.resume({ at: "latest" });
    const [left] = await checkpoints(job, 1);
    const abandoned = (await changeFiles(backend)).at(-1)!;
    await job.resume({ at: first });
    await checkpoints(job, 1);
    await ports.clock.advance(8 * 86_400_000);
    assert.deepEqual((await job.collect(AT_ONCE)).removed, [left]);
    assert.ok(!(await changeFiles(backend)).includes(abandoned));
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("keeps a pinned checkpoint, until it is unpinned", async () => {
    const { job } = await openJobOn();
    const [first] = await checkpoints(job, 3);
    await job.pin(first, "for the audit");
    assert.equal((await job.checkpoints())[0].pin, "for the audit");
    assert.deepEqual((await job.collect(AT_ONCE)).removed, []);
    await job.pin("latest", "the newest");
    assert.equal((await job.checkpoints())[2].pin, "the newest");
    await job.unpin("latest");
    await job.unpin(first);
    assert.deepEqual((await job.collect(AT_ONCE)).removed, [first]);
    await rejectsWith(job.pin(first), "checkpoint-not-found");
  });

  test("keeps pins and the policy over a reopen", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects);
    await one.job.setRetention({ minCount: 1, maxCount: 3 });
    const [first] = await checkpoints(one.job, 5);
    await one.job.pin(first);
    await one.store.close();
    const { job } = await openJobOn(objects);
    assert.deepEqual(job.retention, { minCount: 1, maxCount: 3 });
    assert.equal((await job.collect(AT_ONCE)).removed.length, 1);
    assert.ok((await uuids(job)).includes(first));
  });

  test("deletes nothing while a manifest can't be read", async () => {
    const { job, backend, store } = await openJobOn();
    const [, kept] = await checkpoints(job, 3);
    await store.close();
    await rewrite(backend, `jobs/${JOB}/checkpoints/${kept}.json`, flip(150));
    const before = await keysBelow(backend, `jobs/${JOB}/checkpoints/`);
    const { job: again } = await openJobOn(backend);
    await rejectsWith(again.collect(AT_ONCE), "corrupt");
    assert.deepEqual(await keysBelow(backend, `jobs/${JOB}/checkpoints/`), before);
  });

  test("keeps the files that a restore reads until it has ended", async () => {
    const { job, backend, ports } = await openJobOn();
    const [first] = await checkpoints(job, 1);
    await job.resume({ at: "latest" });
    const [left] = await checkpoints(job, 1);
    const abandoned = (await changeFiles(backend)).at(-1)!;
    const reading = job.restore({ at: left })[Symbol.asyncIterator]();
    await reading.next();
    await job.resume({ at: first });
    await checkpoints(job, 1);
    await ports.clock.advance(8 * 86_400_000);
    await job.collect(AT_ONCE);
    assert.ok((await changeFiles(backend)).includes(abandoned));
    await reading.return?.();
    await job.collect(AT_ONCE);
    assert.ok(!(await changeFiles(backend)).includes(abandoned));
  });

  test("keeps what a restore reads that began while it published", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    await job.setRetention({ minCount: 1 });
    const [first] = await checkpoints(job, 1);
    const [file] = await changeFiles(backend);
    truncate(job);
    await checkpoints(job, 2);
    const publish = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const collecting = job.collect(AT_ONCE);
    await publish.reached;
    const reading = backend.hold({ kind: "get", key: CHANGE_FILE });
    const restoring = restoreWriter(job, "w", first);
    await reading.reached;
    publish.release();
    assert.equal((await collecting).removed.length, 2);
    assert.ok((await changeFiles(backend)).includes(file));
    reading.release();
    assert.deepEqual(await restoring, ["change 0"]);
    await job.collect(AT_ONCE);
    assert.ok(!(await changeFiles(backend)).includes(file));
  });

  test("keeps what a restore of the tail reads, though it is truncated meanwhile", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    await job.setRetention({ minCount: 1 });
    await appendDurably(job, "w", "a");
    const [file] = await changeFiles(backend);
    await appendDurably(job, "w", "b");
    const reading = job.restore({ at: "tail" })[Symbol.asyncIterator]();
    assert.equal(textOf((await reading.next()).value.data), "a");
    truncate(job);
    await checkpoints(job, 1);
    await job.collect(AT_ONCE);
    assert.ok((await changeFiles(backend)).includes(file));
    assert.equal(textOf((await reading.next()).value.data), "b");
    await reading.return?.();
    await job.collect(AT_ONCE);
    assert.ok(!(await changeFiles(backend)).includes(file));
  });

  for (const [what, look] of Object.entries(LOOKS)) {
    test(`keeps what ${what} looks at that is under way`, async () => {
      const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
      await job.setRetention({ minCount: 1 });
      const [oldest] = await checkpoints(job, 1);
      truncate(job);
      await checkpoints(job, 2);
      const manifest = backend.hold({ kind: "get", key: MANIFEST });
      const looking = look(job);
      await manifest.reached;
      await job.collect(AT_ONCE);
      assert.ok((await uuids(job)).includes(oldest));
      manifest.release();
      await looking;
    });
  }

  test("goes on with the others when a delete fails, and tries again", async () => {
    const { job, backend } = await openJobOn();
    await checkpoints(job, 4);
    backend.fail({ kind: "delete", key: /checkpoints/ });
    const { problems } = await job.collect(AT_ONCE);
    assert.equal(problems.length, 1);
    assert.equal((await keysBelow(backend, `jobs/${JOB}/checkpoints/`)).length, 3);
    assert.deepEqual((await job.collect(AT_ONCE)).problems, []);
    assert.equal((await keysBelow(backend, `jobs/${JOB}/checkpoints/`)).length, 2);
  });
});
