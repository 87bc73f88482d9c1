import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import {
  append,
  appendDurably,
  flip,
  imageOf,
  JOB,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
} from "./_engine.ts";
import {
  contents,
  generations,
  KEYS,
  loseCatalog,
  planOn,
  reopened,
  salvageOn,
  spoilNewest,
} from "./_salvage.ts";

/** A job with three checkpoints, one of them pinned, a tail, and two writers. */
async function newBench() {
  const objects = newMemory();
  const { job, store } = await openJobOn(objects, {}, { fingerprint: 7n });
  await job.setRetention({ minCount: 5 });
  const uuids: string[] = [];
  for (const name of ["first", "second", "third"]) {
    append(job, "w", `w ${name}`);
    append(job, "v", `v ${name}`, `v ${name} again`);
    const { uuid } = await job.checkpoint({ identifier: name, metadata: { name } });
    uuids.push(uuid);
  }
  await job.pin(uuids[0], "for good");
  await appendDurably(job, "w", "w tail");
  const before = { contents: await contents(job), tail: await restore(job, { at: "tail" }) };
  await store.close();
  return { objects, uuids, before };
}

async function checkAllIsBack(
  { objects, uuids, before }: Awaited<ReturnType<typeof newBench>>,
): Promise<void> {
  await reopened(objects, async (job) => {
    assert.deepEqual(await contents(job), before.contents);
    assert.deepEqual((await restore(job, { at: "tail" })).changes, before.tail.changes);
    const [first, second, third] = await job.checkpoints();
    assert.deepEqual([first.uuid, second.uuid, third.uuid], uuids);
    assert.deepEqual([second.parent, third.parent], [uuids[0], uuids[1]]);
    assert.deepEqual([third.isHead, job.fingerprint], [true, 7n]);
    const { metadata } = await job.checkpointDetails("latest");
    assert.deepEqual(metadata, { name: "third" });
    await appendDurably(job, "w", "w more");
    await job.checkpoint({ identifier: "fourth" });
    await job.collect({ quarantineMs: 0 });
    assert.equal((await job.checkpoints()).length, 4);
  });
  await reopened(objects, async (job) => {
    const { changes } = await restore(job, { at: "tail" });
    assert.deepEqual(changes.w.slice(-2), ["w tail", "w more"]);
  });
}

describe("a job without any generation", () => {
  test("comes back from its manifests, tail and all", async () => {
    const bench = await newBench();
    await loseCatalog(bench.objects);
    await rejectsWith(openJobOn(bench.objects), "catalog-lost");
    const report = await salvageOn(bench.objects);
    assert.deepEqual(report.catalog, { state: "missing", generation: undefined });
    assert.deepEqual(report.lost, { checkpoints: [], changes: [], objects: [] });
    assert.equal(report.head, bench.uuids[2]);
    assert.deepEqual(report.writers.map(({ nextOffset }) => nextOffset), [6, 4]);
    assert.ok(report.checkpoints.every(({ isPinned }) => isPinned));
    assert.equal(report.run, 2);
    await checkAllIsBack(bench);
  });

  test("pins what it does not know, so that no default retention removes it", async () => {
    const { objects, uuids } = await newBench();
    await loseCatalog(objects);
    const { notes } = await salvageOn(objects);
    assert.ok(notes.some((note) => /every checkpoint is pinned/.test(note)));
    await reopened(objects, async (job) => {
      assert.deepEqual(job.retention, { minCount: 2 });
      await job.checkpoint();
      await job.checkpoint();
      await job.collect({ quarantineMs: 0 });
      const there = (await job.checkpoints()).map(({ uuid }) => uuid);
      assert.deepEqual(there.slice(0, 3), uuids);
      for (const uuid of uuids) await job.unpin(uuid);
      await job.collect({ quarantineMs: 0 });
      assert.equal((await job.checkpoints()).length, 2);
    });
  });

  test("comes back when it never had a checkpoint", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    await appendDurably(job, "w", "a", "b");
    await appendDurably(job, "w", "c");
    await store.close();
    await loseCatalog(objects);
    const report = await salvageOn(objects);
    assert.deepEqual([report.head, report.headReason], [null, "there is no checkpoint"]);
    await reopened(objects, async (job) => {
      assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["a", "b", "c"] });
    });
  });
});

describe("a job whose newest generation can't be read", () => {
  const damages: Record<string, (bytes: Uint8Array) => Uint8Array> = {
    "is empty": () => new Uint8Array(),
    "is torn": (bytes) => bytes.slice(0, bytes.length - 1),
    "is torn in its head": (bytes) => bytes.slice(0, 20),
    "has a flipped bit": (bytes) => flip(bytes.length - 10)(bytes),
  };
  for (const [name, damage] of Object.entries(damages)) {
    test(`comes back from the one before when it ${name}`, async () => {
      const bench = await newBench();
      await spoilNewest(bench.objects, damage);
      await rejectsWith(openJobOn(bench.objects), "catalog-lost");
      const numbers = await generations(bench.objects);
      const report = await salvageOn(bench.objects);
      assert.equal(report.catalog.state, "unreadable");
      assert.equal(report.catalog.generation, numbers.length - 1);
      assert.equal(report.published, numbers.length + 1, "above the one that can't be read");
      assert.deepEqual(report.lost.checkpoints, []);
      assert.deepEqual(report.lost.objects.map(({ key }) => key), [numbers.at(-1)]);
      assert.deepEqual(report.checkpoints.map(({ isPinned }) => isPinned), [false, false, false]);
      await checkAllIsBack(bench);
      await reopened(bench.objects, (job) => {
        assert.deepEqual(job.retention, { minCount: 5 });
        return Promise.resolve();
      });
    });
  }

  test("keeps a checkpoint that only a manifest tells of, and goes on from it", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    append(job, "w", "a");
    const first = await job.checkpoint();
    append(job, "w", "b");
    const second = await job.checkpoint();
    await appendDurably(job, "w", "c");
    await store.close();
    await spoilNewest(objects);
    const report = await salvageOn(objects);
    assert.deepEqual(report.checkpoints.map(({ uuid, isPinned }) => [uuid, isPinned]), [
      [first.uuid, false],
      [second.uuid, true],
    ]);
    assert.equal(report.head, second.uuid);
    await reopened(objects, async (job) => {
      assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["a", "b", "c"] });
      const [, found] = await job.checkpoints();
      assert.equal(found.parent, first.uuid);
    });
  });

  test("comes back from its manifests when none can be read", async () => {
    const bench = await newBench();
    for (const key of await generations(bench.objects)) {
      await bench.objects.put(key, new Uint8Array([1]));
    }
    const count = (await generations(bench.objects)).length;
    const report = await salvageOn(bench.objects);
    assert.deepEqual(report.catalog, { state: "unreadable", generation: undefined });
    assert.equal(report.lost.objects.length, count);
    await checkAllIsBack(bench);
  });

  test("is left alone when a newer program wrote it", async () => {
    const { objects } = await newBench();
    const newest = (await generations(objects)).at(-1)!;
    const { encodeFact } = await import("../../src/engine/format/fact.ts");
    const text = new TextDecoder().decode(encodeFact("catalog", {}));
    assert.match(text, /"version":1/);
    const { xxh64 } = await import("../../wasm/mod.ts");
    const [, body] = text.split("\n");
    const front = `{"kind":"catalog","version":2,"length":${body.length + 1},"xxh64":"`;
    const hash = xxh64(new TextEncoder().encode(front), new TextEncoder().encode(`${body}\n`));
    const bytes = new TextEncoder().encode(
      `${front}${hash.toString(16).padStart(16, "0")}"}\n${body}\n`,
    );
    await objects.put(newest, bytes);
    const before = await imageOf(objects);
    await rejectsWith(planOn(objects), "unsupported-format");
    assert.deepEqual(await imageOf(objects), before);
  });
});

describe("salvage", () => {
  test("does nothing to a job that is well, and nothing before it is accepted", async () => {
    const { objects } = await newBench();
    const plan = await planOn(objects);
    assert.deepEqual([plan.isNeeded, plan.isDone, plan.catalog.state], [false, false, "whole"]);
    const before = await imageOf(objects);
    const { store } = await openEngine(objects);
    assert.equal((await store.salvage(JOB, { accept: plan.id })).isDone, false);
    assert.deepEqual(await imageOf(objects), before);
    await loseCatalog(objects);
    const lost = await imageOf(objects);
    const found = await store.salvage(JOB);
    assert.deepEqual([found.isNeeded, found.isDone], [true, false]);
    assert.equal((await store.salvage(JOB, { accept: found.id, dryRun: true })).isDone, false);
    await rejectsWith(store.salvage(JOB, { accept: plan.id }), "plan-changed");
    assert.deepEqual(await imageOf(objects), lost);
    await store.close();
  });

  test("is done once: after it there is nothing to do", async () => {
    const { objects } = await newBench();
    await loseCatalog(objects);
    await salvageOn(objects);
    const again = await planOn(objects);
    assert.deepEqual([again.isNeeded, again.lost], [false, {
      checkpoints: [],
      changes: [],
      objects: [],
    }]);
    const before = await imageOf(objects);
    await salvageOn(objects);
    assert.deepEqual(await imageOf(objects), before);
  });

  test("finds no job where there is none, nor where an open died before it published", async () => {
    const objects: MemoryBackend = newMemory();
    const { store } = await openEngine(objects);
    await rejectsWith(store.salvage(JOB), "job-not-found");
    await objects.put(KEYS.owner(1), new Uint8Array([1]));
    await rejectsWith(store.salvage(JOB), "job-not-found");
    await rejectsWith(store.salvage("a/b"), "invalid-name");
    await store.close();
    await rejectsWith(store.salvage(JOB), "closed");
  });

  test("only looks in a store that is open for reading", async () => {
    const { objects } = await newBench();
    await loseCatalog(objects);
    const { store } = await openEngine(objects, { mode: "read" });
    const plan = await store.salvage(JOB);
    await rejectsWith(store.salvage(JOB, { accept: plan.id }), "read-only");
  });
});
