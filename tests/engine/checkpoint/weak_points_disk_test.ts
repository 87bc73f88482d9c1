/** Weak points of the system that checkpoints come from, by number, as far as they are those of a disk. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatCount, JobKeys } from "../../../src/engine/paths.ts";
import type { Job } from "../../../src/engine/types.ts";
import { type DiskCall, ForgettingDisk, SYNC_CALLS } from "../../doubles/forgetting_file_system.ts";
import { posixOn } from "../../doubles/posix_on_double.ts";
import {
  append,
  appendDurably,
  JOB,
  keysBelow,
  openJobOn,
  rejectsWith,
  restoreWriter,
} from "../_engine.ts";
import { AT_ONCE, checkContents, commit, uuidsOf } from "./_checkpoints.ts";
import { cutEverywhere } from "./_power_cuts.ts";

const KEYS = new JobKeys(JOB);
const ROOT = "/disk/store";
const UUID = "01b8dac5-b400-7705-b1c1-c62ebd22e0b2";

type Contents = Map<string, readonly string[]>;

/** Some checkpoints of a growing state. */
async function commitSome(job: Job, count: number): Promise<Contents> {
  const contents: Contents = new Map();
  const texts: string[] = [];
  for (let i = 0; i < count; i++) {
    texts.push(`change ${i}`);
    contents.set(await commit(job, texts.at(-1)!), [...texts]);
  }
  return contents;
}

async function checkWhole(job: Job, contents: Contents): Promise<void> {
  await checkContents(job, contents);
  assert.deepEqual((await job.verify()).problems, []);
}

/** Puts a file on the disk that no backend would make. */
async function putFile(disk: ForgettingDisk, path: string): Promise<void> {
  const handle = await disk.fileSystem().open(`${ROOT}/${path}`, "create");
  await handle.write(new Uint8Array(3), 0);
  await handle.close();
}

/** Calls of a kind that an action makes. */
async function countCalls(
  disk: ForgettingDisk,
  isCounted: (call: DiskCall) => boolean,
  action: () => Promise<unknown>,
): Promise<number> {
  const before = disk.log.length;
  await action();
  return disk.log.slice(before).filter(isCounted).length;
}

describe("a power cut", () => {
  test("row 2: at any call of a collection leaves every listed checkpoint whole", async () => {
    const cuts = await cutEverywhere({
      prepare: (job) => commitSome(job, 4),
      act: (job) => job.collect(AT_ONCE),
      async check(job, contents) {
        assert.ok((await uuidsOf(job)).length >= 2);
        await checkWhole(job, contents);
      },
    });
    assert.ok(cuts > 8, `${cuts} cuts`);
  });

  test("row 3: at any call leaves a head that is listed, with its run and its tail", async () => {
    const cuts = await cutEverywhere({
      async prepare(job) {
        await job.setRetention({ minCount: 1 });
        const contents = await commitSome(job, 3);
        return { contents, uuids: [...contents.keys()] };
      },
      async act(job, { contents, uuids }) {
        await job.resume({ at: uuids[1] });
        append(job, "w", "another line");
        const { uuid } = await job.checkpoint();
        contents.set(uuid, ["change 0", "change 1", "another line"]);
        await job.collect(AT_ONCE);
      },
      async check(job, { contents, uuids }) {
        const heads = (await job.checkpoints()).filter(({ isHead }) => isHead);
        assert.equal(heads.length, 1);
        const { uuid, run } = heads[0];
        const isNew = !uuids.includes(uuid);
        const line = ["change 0", "change 1", "another line"];
        const texts = isNew ? line : contents.get(uuid)!;
        assert.deepEqual(await restoreWriter(job, "w", "latest"), texts);
        assert.equal(run, isNew ? 2 : 1);
        // What was written and not acknowledged may be there, if its line is the one that goes on.
        const tail = await restoreWriter(job, "w");
        assert.deepEqual(tail, job.run === 2 ? line.slice(0, tail.length) : texts);
        assert.ok(tail.length >= texts.length);
        assert.equal((await job.resume({ at: "latest" })).checkpoint?.uuid, uuid);
      },
    });
    assert.ok(cuts > 25, `${cuts} cuts`);
  });

  test("row 5: at any call of a checkpoint leaves no name in the catalog of what is not there", async () => {
    const texts = ["change 0", "change 1", "the newest"];
    const cuts = await cutEverywhere({
      prepare: (job) => commitSome(job, 2),
      act(job) {
        append(job, "w", "the newest");
        return job.checkpoint();
      },
      async check(job, contents) {
        const uuids = await uuidsOf(job);
        assert.ok(uuids.length === 2 || uuids.length === 3);
        if (uuids.length === 3) contents.set(uuids[2], texts);
        await checkWhole(job, contents);
      },
    });
    assert.ok(cuts > 10, `${cuts} cuts`);
  });

  test("row 15: keeps what was acknowledged since the newest checkpoint; a job without files is empty", async () => {
    const disk = new ForgettingDisk();
    const { job: empty, store } = await openJobOn(posixOn(disk));
    await store.close();
    assert.equal(empty.epoch, 1);
    const { job } = await openJobOn(posixOn(disk));
    assert.deepEqual(await restoreWriter(job, "w"), []);
    await commit(job, "a");
    await appendDurably(job, "w", "b");
    await appendDurably(job, "w", "c");
    disk.crash("power-cut");
    const { job: again } = await openJobOn(posixOn(disk));
    assert.deepEqual(await restoreWriter(again, "w"), ["a", "b", "c"]);
  });
});

describe("a sync that fails once and says yes after", () => {
  test("row 14: has what it was about written again, elsewhere, before anything is acknowledged", async () => {
    const disk = new ForgettingDisk();
    const { job } = await openJobOn(posixOn(disk));
    await commit(job, "a");
    append(job, "w", "b");
    const matches = ({ kind, path }: DiskCall) => kind === "datasync" && /changelog/.test(path);
    disk.addFault({ matches, error: "EIO", losesPending: true });
    await rejectsWith(job.writer("w").persist(), "storage-unavailable");
    const uuid = await commit(job, "c");
    disk.crash("power-cut");
    const { job: again } = await openJobOn(posixOn(disk));
    assert.deepEqual(await restoreWriter(again, "w", uuid), ["a", "b", "c"]);
    assert.deepEqual((await again.verify()).problems, []);
  });

  test("row 19: of the catalog's folder leaves memory and disk saying the same", async () => {
    for (const times of [1, 2, 3]) {
      const disk = new ForgettingDisk();
      const { job } = await openJobOn(posixOn(disk));
      await commit(job, "a");
      append(job, "w", "b");
      const matches = ({ kind, path }: DiskCall) =>
        kind === "syncDirectory" && path.endsWith("/catalog");
      disk.addFault({ matches, error: "EIO", losesPending: true, times });
      const answer = await job.checkpoint().then(({ uuid }) => uuid, (error) => {
        assert.equal(error.outcome, "unknown");
        return undefined;
      });
      assert.equal(answer === undefined, times === 3);
      // The next publish settles whatever is undecided.
      await job.setRetention({ minCount: 7 });
      const known = await uuidsOf(job);
      assert.equal(known.length, 2);
      disk.crash("power-cut");
      const { job: again } = await openJobOn(posixOn(disk));
      assert.deepEqual(await uuidsOf(again), known);
      assert.deepEqual(await restoreWriter(again, "w", known[1]), ["a", "b"]);
    }
  });
});

describe("names on a disk", () => {
  test("row 22: that stand for something else by now are left alone by who lets go of what they stood for", async () => {
    const disk = new ForgettingDisk();
    const old = await openJobOn(posixOn(disk));
    const uuid = await commit(old.job, "a");
    const manifest = KEYS.manifest(uuid);
    const pinned = await old.backend.pin(manifest);
    const young = await openJobOn(posixOn(disk), {}, { takeOver: true });
    await young.backend.put(manifest, await young.backend.get(manifest));
    await commit(young.job, "b");
    const before = await keysBelow(young.backend);
    await pinned.close();
    await old.store.close();
    assert.deepEqual(await keysBelow(young.backend), before);
    await rejectsWith(openJobOn(posixOn(disk)), "job-busy");
    assert.deepEqual(await restoreWriter(young.job, "w"), ["a", "b"]);
  });

  test("row 23: that are no keys are neither deleted nor said to be", async () => {
    const disk = new ForgettingDisk();
    const { job, backend } = await openJobOn(posixOn(disk));
    await commitSome(job, 4);
    const odd = [`a%b.json`, `%${UUID}.json`, `ä-${UUID}.json`, `${UUID}.json~`, "a b.json"];
    const folders = ["checkpoints", "changelog/main"];
    for (const folder of folders) {
      for (const name of odd) await putFile(disk, `jobs/${JOB}/${folder}/${name}`);
    }
    const { objects, problems } = await job.collect(AT_ONCE);
    assert.deepEqual(problems, []);
    assert.ok(objects.every(({ key }) => odd.every((name) => !key.endsWith(`/${name}`))));
    const { kinds } = await job.usage();
    assert.equal(kinds.checkpoints.objects, 2 + odd.length, "they count where they lie");
    const left = new Set(await keysBelow(backend, `jobs/${JOB}/`));
    for (const folder of folders) {
      for (const name of odd) assert.ok(left.has(`jobs/${JOB}/${folder}/${name}`), name);
    }
  });

  test("row 24: that dead owners left half-made go with the next open, however deep they lie", async () => {
    const disk = new ForgettingDisk();
    const { job, store } = await openJobOn(posixOn(disk));
    await commitSome(job, 2);
    await store.close();
    const folders = ["catalog", "checkpoints", "changelog/main", "owners"];
    const temporary = `.tmp-${formatCount(1)}-${UUID}`;
    for (const folder of folders) await putFile(disk, `jobs/${JOB}/${folder}/${temporary}`);
    const { job: again } = await openJobOn(posixOn(disk));
    const fileSystem = disk.fileSystem();
    for (const folder of folders) {
      const path = `${ROOT}/jobs/${JOB}/${folder}/${temporary}`;
      assert.equal(await fileSystem.stat(path), undefined, path);
    }
    const { files } = await again.checkpointDetails("latest");
    assert.ok(files.every(({ key }) => KEYS.parseChangeFile(key) !== undefined));
  });
});

describe("calls of a disk", () => {
  const isSync = ({ kind }: DiskCall) => SYNC_CALLS.has(kind);
  const isWrite = ({ kind, path }: DiskCall) => kind === "write" && /changelog/.test(path);

  test("row 30: a checkpoint syncs at most 6 times, whatever the number of its writers", async () => {
    const counts: number[] = [];
    for (const writers of [1, 10, 100]) {
      const disk = new ForgettingDisk();
      const { job } = await openJobOn(posixOn(disk));
      await commit(job, "first");
      for (let i = 0; i < writers; i++) append(job, `w${i}`, "a change");
      counts.push(await countCalls(disk, isSync, () => job.checkpoint()));
    }
    assert.deepEqual(counts, [counts[0], counts[0], counts[0]]);
    assert.ok(counts[0] <= 6, `${counts[0]} syncs`);
  });

  test("row 31: a batch is written in as many pieces as its bytes want, not as its changes are", async () => {
    const disk = new ForgettingDisk();
    const { job } = await openJobOn(posixOn(disk));
    const writer = job.writer("w");
    const persistOf = (sets: number, bytes: number) => async () => {
      for (let i = 0; i < sets; i++) {
        writer.append(0, new Uint8Array(bytes).map((_, at) => (at * 2_654_435_761 + i) >>> 13));
        writer.nextSequenceNumber();
      }
      await writer.persist();
    };
    await countCalls(disk, isWrite, persistOf(1, 10));
    const few = await countCalls(disk, isWrite, persistOf(1, 10));
    assert.equal(await countCalls(disk, isWrite, persistOf(500, 10)), few);
    const MIB = 1024 * 1024;
    const many = await countCalls(disk, isWrite, persistOf(512, 16 * 1024));
    assert.ok(many <= few + 8 * MIB / (256 * 1024), `${many} writes of 8 MiB`);
  });

  test("row 33: locks of several jobs stand apart, and each says who has it", async () => {
    const disk = new ForgettingDisk();
    const locks = ["a", "b", "c"];
    const first = posixOn(disk);
    await first.prepare({ create: true });
    for (const name of locks) await first.lock(`jobs/${name}/LOCK`);
    for (const name of locks) {
      const error = await rejectsWith(posixOn(disk).lock(`jobs/${name}/LOCK`), "job-busy");
      assert.ok(error.message.includes(`jobs/${name}/LOCK`) && Number(error.details.pid) > 0);
    }
    await first.close();
    for (const name of locks) {
      const lock = await posixOn(disk).lock(`jobs/${name}/LOCK`);
      assert.deepEqual(lock?.warnings, [], "one that let go is followed silently");
    }
  });
});
