import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import {
  append,
  appendDurably,
  bytesOf,
  changeFiles,
  flip,
  JOB,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restore,
  rewrite,
  textOf,
} from "./_engine.ts";
import { contents, KEYS, loseCatalog, planOn, reopened, salvageOn } from "./_salvage.ts";

/** One batch a file, so that a test damages what it means to. */
const SMALL = { changeFileBytesMax: 1 };

/** Three checkpoints of one change each in `w`, then a tail of `w` and `v`, each change in a file of its own. */
async function newBench(settings = SMALL) {
  const objects = newMemory();
  const { job, store } = await openJobOn(objects, settings);
  await job.setRetention({ minCount: 9 });
  const uuids: string[] = [];
  for (const text of ["a", "b", "c"]) {
    await appendDurably(job, "w", text);
    uuids.push((await job.checkpoint()).uuid);
  }
  for (const [writer, text] of [["w", "d"], ["v", "x"], ["w", "e"], ["w", "f"], ["v", "y"]]) {
    await appendDurably(job, writer, text);
  }
  await store.close();
  return { objects, uuids, files: await changeFiles(objects) };
}

type Bench = Awaited<ReturnType<typeof newBench>>;

async function tailOf(objects: MemoryBackend): Promise<Readonly<Record<string, string[]>>> {
  return await reopened(objects, async (job) => (await restore(job, { at: "tail" })).changes);
}

/** With the catalog as it is, and without it. */
function inBothCatalogs(
  name: string,
  run: (bench: Bench, lose: (objects: MemoryBackend) => Promise<void>) => Promise<void>,
): void {
  test(`${name}, the catalog whole`, async () => await run(await newBench(), async () => {}));
  test(`${name}, the catalog lost`, async () => await run(await newBench(), loseCatalog));
}

describe("salvage of a job whose tail is damaged", () => {
  inBothCatalogs("names what a missing file takes with it", async (bench, lose) => {
    const { objects, files, uuids } = bench;
    await objects.delete(files[5]); // "e"
    await lose(objects);
    await assert.rejects(openJobOn(objects));
    const report = await salvageOn(objects);
    assert.deepEqual(report.lost.checkpoints, []);
    assert.deepEqual(report.lost.changes, [{ writer: "w", from: 4, to: 6 }]);
    assert.ok(report.lost.objects.some(({ key }) => key === files[5]));
    assert.deepEqual([report.head, report.run], [uuids[2], 2]);
    assert.deepEqual(await tailOf(objects), { w: ["a", "b", "c", "d"], v: ["x", "y"] });
  });

  inBothCatalogs("names what a flipped bit takes with it", async (bench, lose) => {
    const { objects, files } = bench;
    const { size } = (await objects.head(files[4]))!; // "x"
    await rewrite(objects, files[4], flip(size - 300));
    await lose(objects);
    const report = await salvageOn(objects);
    assert.deepEqual(report.lost.changes, [{ writer: "v", from: 0, to: 2 }]);
    assert.deepEqual(await tailOf(objects), { w: ["a", "b", "c", "d", "e", "f"] });
  });

  test("takes what is before the damage in a file of many batches", async () => {
    const { objects, files, uuids } = await newBench({ changeFileBytesMax: 1e9 });
    assert.equal(files.length, 1);
    const { size } = (await objects.head(files[0]))!;
    // The last batch but one: it holds "f".
    const bytes = await objects.get(files[0]);
    const from = size - 700;
    await objects.put(files[0], bytes.fill(0, from, from + 40));
    const { lost, head } = await salvageOn(objects);
    assert.equal(head, uuids[2]);
    assert.equal(lost.objects.length, 1);
    const found = await tailOf(objects);
    assert.deepEqual(found.w, ["a", "b", "c", "d", "e", "f"].slice(0, found.w.length));
    for (const { writer, from: first, to } of lost.changes) {
      assert.equal(found[writer]?.length ?? 0, first);
      assert.equal(to, { w: 6, v: 2 }[writer]);
    }
    assert.ok(lost.changes.length > 0);
  });

  test("fences the run before, so that its appends are not taken for what is lost", async () => {
    const { objects, files } = await newBench();
    await objects.delete(files.at(-2)!);
    const { run } = await salvageOn(objects);
    await reopened(objects, async (job) => {
      assert.equal(job.run, run);
      const { encodeChanges } = await import("../../src/engine/format/change_input.ts");
      const changes = encodeChanges([{ keyGroup: 0, data: new Uint8Array([1]) }]);
      await rejectsWith(() => job.writer("w").appendAt(5, changes, { run: 1 }), "fenced");
    });
  });
});

describe("salvage of a job in which a writer's name was taken up again", () => {
  for (const isEnded of [true, false]) {
    const head = isEnded ? "ended" : "goes on";
    test(`never joins two writers, from a checkpoint in which the first ${head}`, async () => {
      const objects = newMemory();
      const lost: string[] = [];
      const one = await openJobOn(objects);
      await appendDurably(one.job, "w", "a0");
      await appendDurably(one.job, "w", "a1");
      const first = (await one.job.checkpoint()).uuid;
      await appendDurably(one.job, "v", "x");
      one.job.retireWriter("w");
      const second = (await one.job.checkpoint()).uuid;
      if (!isEnded) lost.push(second);
      await one.store.close();
      const two = await openJobOn(objects);
      lost.push((await two.job.checkpoint()).uuid);
      await appendDurably(two.job, "w", "b0");
      await appendDurably(two.job, "v", "y");
      await appendDurably(two.job, "w", "b1");
      await two.store.close();
      const three = await openJobOn(objects);
      for (const text of ["b2", "b3"]) await appendDurably(three.job, "w", text);
      await three.store.close();
      for (const uuid of lost) await rewrite(objects, KEYS.manifest(uuid), flip(300));
      await assert.rejects(openJobOn(objects));
      const report = await salvageOn(objects);
      assert.equal(report.head, isEnded ? second : first);
      assert.deepEqual(report.lost.changes, [
        { writer: "v", from: 1, to: 2 },
        { writer: "w", from: 2, to: 4 },
      ]);
      assert.ok(
        report.lost.objects.some(({ reason }) => /another writer had the name/.test(reason)),
      );
      assert.deepEqual(await tailOf(objects), { w: ["a0", "a1"], v: ["x"] });
    });
  }
});

describe("salvage of a job whose checkpoints are damaged", () => {
  inBothCatalogs("leaves out one whose manifest is bad", async (bench, lose) => {
    const { objects, uuids: [first, second, third] } = bench;
    await rewrite(objects, KEYS.manifest(second), flip(150));
    await lose(objects);
    const report = await salvageOn(objects);
    assert.deepEqual(report.lost.checkpoints.map(({ uuid }) => uuid), [second]);
    assert.deepEqual(report.checkpoints.map(({ uuid }) => uuid), [first, third]);
    assert.deepEqual([report.head, report.lost.changes], [third, []]);
    assert.deepEqual(await tailOf(objects), {
      w: ["a", "b", "c", "d", "e", "f"],
      v: ["x", "y"],
    });
  });

  inBothCatalogs("goes on from the one before when head's manifest is bad", async (bench, lose) => {
    const { objects, uuids: [, second, third] } = bench;
    await objects.put(KEYS.manifest(third), new Uint8Array());
    await lose(objects);
    const report = await salvageOn(objects);
    assert.equal(report.head, second);
    assert.match(report.headReason, new RegExp(`${third} can't be restored|newest one of run 1`));
    assert.deepEqual(report.lost.changes, []);
    assert.deepEqual(await tailOf(objects), {
      w: ["a", "b", "c", "d", "e", "f"],
      v: ["x", "y"],
    });
  });

  inBothCatalogs("names the changes of a head whose file is gone", async (bench, lose) => {
    const { objects, files, uuids: [first, second, third] } = bench;
    await objects.delete(files[1]); // "b"
    await lose(objects);
    const report = await salvageOn(objects);
    assert.deepEqual(report.lost.checkpoints.map(({ uuid }) => uuid), [second, third]);
    assert.deepEqual(report.lost.changes, [{ writer: "w", from: 1, to: 6 }]);
    assert.equal(report.head, first);
    assert.deepEqual(await tailOf(objects), { w: ["a"], v: ["x", "y"] });
  });

  test("keeps the run where head and tail are as they were", async () => {
    const { objects, uuids: [first] } = await newBench();
    await objects.delete(KEYS.manifest(first));
    const report = await salvageOn(objects);
    assert.deepEqual([report.run, report.lost.checkpoints.length], [1, 1]);
    await reopened(objects, async (job) => {
      // A collection could not tell what that checkpoint needs: now it can go on.
      await job.checkpoint();
      assert.deepEqual((await job.collect({ quarantineMs: 0 })).problems, []);
    });
  });

  test("comes down to nothing where nothing is left", async () => {
    const { objects } = await newBench();
    for (const key of await keysBelow(objects, KEYS.checkpointsPrefix)) await objects.delete(key);
    await objects.delete((await changeFiles(objects))[0]);
    await loseCatalog(objects);
    const report = await salvageOn(objects);
    assert.deepEqual([report.head, report.checkpoints], [null, []]);
    assert.deepEqual(report.lost.changes, [{ writer: "w", from: 0, to: 6 }]);
    assert.ok(report.notes.some((note) => /fingerprint is not known/.test(note)));
    assert.deepEqual(await tailOf(objects), { v: ["x", "y"] });
  });

  test("brings back state objects, and leaves out a checkpoint of which one is bad", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    const uuids: string[] = [];
    for (const text of ["one", "two"]) {
      uuids.push((await job.checkpoint({ states: { total: bytesOf(text) } })).uuid);
    }
    await store.close();
    await loseCatalog(objects);
    const { states } = JSON.parse(
      textOf(await objects.get(KEYS.manifest(uuids[1]))).split("\n")[1],
    );
    assert.ok(states[0].key.startsWith(KEYS.statesPrefix));
    await rewrite(objects, states[0].key, flip(200));
    const report = await salvageOn(objects);
    assert.deepEqual([report.head, report.lost.checkpoints[0].uuid], uuids);
    assert.deepEqual(report.lost.objects.map(({ key }) => key), [states[0].key]);
    await reopened(objects, async (job) => {
      const pieces: string[] = [];
      for await (const piece of job.readState("total")) pieces.push(textOf(piece));
      assert.equal(pieces.join(""), "one");
    });
  });

  test("names what a recovery took over, when that can't be read", async () => {
    const { objects } = await newBench();
    const { store } = await openJobOn(objects);
    await store.close();
    const [adopted] = await keysBelow(objects, KEYS.adoptedPrefix);
    await rewrite(objects, adopted, flip(120));
    await rejectsWith(openJobOn(objects), "corrupt");
    const report = await salvageOn(objects);
    assert.deepEqual(report.lost.changes, []);
    assert.deepEqual(report.lost.objects.map(({ key }) => key), [adopted]);
    assert.deepEqual((await tailOf(objects)).w, ["a", "b", "c", "d", "e", "f"]);
  });
});

describe("salvage after branches", () => {
  /** Three checkpoints, then a resume to the first and one more change; with a fourth checkpoint where asked. */
  async function branched(withCheckpoint: boolean) {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    await job.setRetention({ minCount: 9 });
    const uuids: string[] = [];
    for (const text of ["a", "b", "c"]) {
      append(job, "w", text);
      uuids.push((await job.checkpoint()).uuid);
    }
    await appendDurably(job, "w", "abandoned");
    await job.resume({ at: uuids[0] });
    await appendDurably(job, "w", "B");
    if (withCheckpoint) uuids.push((await job.checkpoint()).uuid);
    await appendDurably(job, "w", "C");
    const before = await contents(job);
    await store.close();
    return { objects, uuids, before };
  }

  for (const withCheckpoint of [false, true]) {
    const name = withCheckpoint ? "with a checkpoint on it" : "without one";
    test(`goes on with the newest line, ${name}, and nothing of what was abandoned`, async () => {
      const { objects, uuids, before } = await branched(withCheckpoint);
      await loseCatalog(objects);
      const report = await salvageOn(objects);
      assert.equal(report.head, withCheckpoint ? uuids[3] : uuids[0]);
      assert.deepEqual(report.lost, { checkpoints: [], changes: [], objects: [] });
      assert.equal(report.run, 3);
      await reopened(objects, async (job) => {
        assert.deepEqual(await contents(job), before);
        assert.deepEqual((await restore(job, { at: "tail" })).changes, { w: ["a", "B", "C"] });
        const abandoned = (await job.checkpoints()).filter(({ isAbandoned }) => isAbandoned);
        assert.deepEqual(abandoned.map(({ uuid }) => uuid), [uuids[1], uuids[2]]);
      });
    });
  }

  test("keeps what a resume to the tail kept, whatever else is lost", async () => {
    for (const loses of [["catalog"], ["catalog", "adopted"]]) {
      const objects = newMemory();
      const { job, store } = await openJobOn(objects);
      append(job, "w", "a");
      await job.checkpoint();
      await appendDurably(job, "w", "b");
      await appendDurably(job, "v", "x");
      await job.resume({ at: "tail" });
      await appendDurably(job, "w", "c");
      await store.close();
      await loseCatalog(objects);
      if (loses.includes("adopted")) {
        for (const key of await keysBelow(objects, KEYS.adoptedPrefix)) await objects.delete(key);
      }
      await salvageOn(objects);
      assert.deepEqual(await tailOf(objects), { w: ["a", "b", "c"], v: ["x"] }, loses.join());
    }
  });

  test("gives up with a checkpoint what a resume to it gave up", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    append(job, "w", "a");
    await job.checkpoint();
    await appendDurably(job, "w", "given up");
    await appendDurably(job, "v", "given up");
    await job.resume();
    await appendDurably(job, "w", "b");
    await store.close();
    await loseCatalog(objects);
    const { notes } = await salvageOn(objects);
    assert.ok(notes.some((note) => /older runs/.test(note)));
    assert.deepEqual(await tailOf(objects), { w: ["a", "b"] });
  });

  test("takes nothing of a fenced owner that its successor left out", async () => {
    const objects = newMemory();
    const old = await openJobOn(objects);
    append(old.job, "w", "a");
    await old.job.checkpoint();
    const next = await openJobOn(objects);
    await appendDurably(next.job, "w", "b");
    // The old owner does not know yet: its file grows, and nothing of it is acknowledged.
    append(old.job, "w", "B", "B");
    await assert.rejects(old.job.writer("w").persist(), { code: "fenced" });
    await next.store.close();
    await old.store.close(); // who appended was told
    await loseCatalog(objects);
    assert.deepEqual((await salvageOn(objects)).lost.changes, []);
    assert.deepEqual(await tailOf(objects), { w: ["a", "b"] });
  });
});

describe("salvage beside others", () => {
  test("refuses a job that this process has open, and waits for nobody to open it meanwhile", async () => {
    const { objects } = await newBench();
    const { store, backend } = await openEngine(objects);
    const job = await store.job(JOB);
    const plan = await store.salvage(JOB);
    assert.equal(plan.isNeeded, false);
    await loseCatalog(objects);
    const lost = await store.salvage(JOB);
    await rejectsWith(store.salvage(JOB, { accept: lost.id }), "job-busy");
    await job.close();
    const held = backend.hold({ kind: "putIfAbsent", key: /\/catalog\// });
    const found = await store.salvage(JOB);
    const salvaging = store.salvage(JOB, { accept: found.id });
    await held.reached;
    const opening = store.job(JOB);
    await rejectsWith(store.salvage(JOB, { accept: found.id }), "job-busy");
    held.release();
    assert.equal((await salvaging).isDone, true);
    assert.deepEqual((await (await opening).verify()).problems, []);
    await store.close();
  });

  test("fences an owner that lives on elsewhere, whichever owner keys are left", async () => {
    for (const left of ["all", "none", "its own and a gap after it"]) {
      const objects = newMemory();
      const { job } = await openJobOn(objects);
      await appendDurably(job, "w", "a");
      if (left === "none") await objects.delete(KEYS.owner(1));
      if (left === "its own and a gap after it") {
        const bytes = await objects.get(KEYS.owner(1));
        await objects.put(KEYS.owner(4), bytes);
      }
      await loseCatalog(objects);
      const { store } = await openEngine(objects);
      const plan = await store.salvage(JOB);
      await store.salvage(JOB, { accept: plan.id });
      append(job, "w", "b");
      await rejectsWith(job.writer("w").persist(), "fenced");
      await store.close();
    }
  });

  test("does nothing when the catalog came back meanwhile", async () => {
    const objects = newMemory();
    const { job } = await openJobOn(objects);
    append(job, "w", "a");
    await job.checkpoint();
    await objects.put((await keysBelow(objects, KEYS.catalogPrefix)).at(-1)!, new Uint8Array());
    const plan = await planOn(objects);
    // Its owner knows what it published, and goes on.
    append(job, "w", "b");
    await job.checkpoint();
    const { store } = await openEngine(objects);
    assert.equal((await store.salvage(JOB, { accept: plan.id })).isDone, false);
    await appendDurably(job, "w", "c");
  });

  test("is refused when more is lost by the time that older owners are fenced", async () => {
    const { objects, files } = await newBench();
    await loseCatalog(objects);
    const { store, backend } = await openEngine(objects);
    const plan = await store.salvage(JOB);
    const held = backend.hold({ kind: "putIfAbsent", key: /\/owners\// });
    const salvaging = rejectsWith(store.salvage(JOB, { accept: plan.id }), "plan-changed");
    await held.reached;
    await objects.delete(files.at(-2)!);
    held.release();
    await salvaging;
    assert.deepEqual(await keysBelow(objects, KEYS.catalogPrefix), []);
  });

  test("is refused when more is lost than was accepted", async () => {
    const { objects, files } = await newBench();
    await loseCatalog(objects);
    const plan = await planOn(objects);
    await objects.delete(files.at(-2)!);
    const { store } = await openEngine(objects);
    const { details } = await rejectsWith(store.salvage(JOB, { accept: plan.id }), "plan-changed");
    assert.equal(details.accepted, plan.id);
    assert.deepEqual(await keysBelow(objects, KEYS.catalogPrefix), []);
  });
});
