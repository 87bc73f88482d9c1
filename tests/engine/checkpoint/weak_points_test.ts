/** Weak points of the system that checkpoints come from, by number: each has a test that fails on the fault. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JobKeys } from "../../../src/engine/paths.ts";
import { LimitedBackend } from "../../../src/engine/storage/limited_backend.ts";
import { StoreRoom } from "../../../src/engine/storage/store_room.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import type { Job } from "../../../src/engine/types.ts";
import { FaultyBackend } from "../../doubles/faulty_backend.ts";
import {
  append,
  appendDurably,
  changeFiles,
  flip,
  GENERATION,
  imageOf,
  JOB,
  keysBelow,
  MANIFEST,
  newMemory,
  openEngine,
  openJobOn,
  rejectsWith,
  restoreWriter,
  rewrite,
  Surroundings,
  textOf,
} from "../_engine.ts";
import { AT_ONCE, checkContents, commit, uuidsOf } from "./_checkpoints.ts";

const KEYS = new JobKeys(JOB);
const STRAY = "01b8dac5-b400-7705-b1c1-c62ebd22e0b2";

function fullDisk(): TidemarkError {
  return new TidemarkError("storage-full", "Made by a test", { outcome: "not-applied" });
}

/** Gives up all that the writer has by now, with the next checkpoint. */
function materialise(job: Job): void {
  const writer = job.writer("w");
  writer.truncate(writer.nextSequenceNumber());
}

describe("what a collection keeps", () => {
  test("row 1: what every retained checkpoint needs, whatever the oldest of them needs", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    const first = await commit(job, "a");
    const [shared] = await changeFiles(backend);
    materialise(job);
    const second = await commit(job, "b");
    await job.resume({ at: first });
    const branch = await commit(job, "c");
    await job.resume({ at: second });
    const last = await commit(job, "d");
    assert.deepEqual((await job.collect(AT_ONCE)).removed, [first]);
    assert.deepEqual(await uuidsOf(job), [second, branch, last]);
    const filesOf = async (uuid: string) =>
      (await job.checkpointDetails(uuid)).files.map(({ key }) => key);
    assert.ok(!(await filesOf(second)).includes(shared), "the oldest does not need it");
    assert.ok((await filesOf(branch)).includes(shared), "one in the middle does");
    await checkContents(job, new Map([[second, ["b"]], [branch, ["a", "c"]], [last, ["b", "d"]]]));
    assert.deepEqual((await job.verify()).problems, []);
  });

  test("row 12: whatever it did not make, whatever its name looks like", async () => {
    const { job, backend } = await openJobOn();
    const foreign = [
      "jobs/orders/unexpected.xyzzy",
      `jobs/orders/${STRAY}/dependencies.json`,
      "jobs/orders/private/state.json",
      "jobs/orders/changelog/notes.txt",
      `jobs/orders/changelog/main/${STRAY}.cborseq.lz4`,
      `jobs/orders/checkpoints/${STRAY}.json.mut`,
      `jobs/orders/checkpoints/${STRAY}/CHECKPOINT`,
      `jobs/orders/adopted/${STRAY}.json`,
      "coordinator/steps.json",
      "w0-data.feldera",
    ];
    for (const key of foreign) await backend.put(key, new Uint8Array(1));
    for (const text of ["a", "b", "c"]) await commit(job, text);
    const { objects } = await job.collect(AT_ONCE);
    assert.deepEqual(objects.filter(({ key }) => foreign.includes(key)), []);
    const left = new Set(await keysBelow(backend));
    assert.deepEqual(foreign.filter((key) => !left.has(key)), []);
  });

  test("row 18: what can't be deleted, for the next time; and it does not mind who is excepted", async () => {
    const { job, backend } = await openJobOn();
    const uuids: string[] = [];
    for (const text of ["a", "b", "c", "d", "e"]) uuids.push(await commit(job, text));
    backend.fail({ kind: "delete", key: MANIFEST });
    const { problems, removed } = await job.collect({ ...AT_ONCE, except: [STRAY, uuids[1]] });
    assert.deepEqual(removed, [uuids[0], uuids[2]]);
    assert.equal(problems.length, 1);
    const left = [uuids[1], uuids[3], uuids[4]].map((uuid) => KEYS.manifest(uuid)).sort();
    const keys = await keysBelow(backend, KEYS.checkpointsPrefix);
    assert.equal(keys.length, left.length + 1, "the other one went all the same");
    assert.deepEqual((await job.collect({ ...AT_ONCE, except: [uuids[1]] })).problems, []);
    assert.deepEqual(await keysBelow(backend, KEYS.checkpointsPrefix), left);
  });

  test("row 29: one checkpoint is enough, whatever it shares with those that went", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects, { changeFileBytesMax: 300 });
    await job.setRetention({ minCount: 1 });
    const texts: string[] = [];
    for (let i = 0; i < 6; i++) {
      texts.push(`change ${i}`);
      const uuid = await commit(job, texts.at(-1)!);
      await job.collect(AT_ONCE);
      assert.deepEqual(await uuidsOf(job), [uuid]);
      await checkContents(job, new Map([[uuid, texts]]));
      if (i % 2 === 0) await job.resume({ at: "latest" });
    }
    assert.equal((await keysBelow(backend, KEYS.checkpointsPrefix)).length, 1);
    const { job: again } = await openJobOn(objects);
    assert.deepEqual(await restoreWriter(again, "w"), texts);
    assert.deepEqual((await again.verify()).problems, []);
  });
});

describe("what is published", () => {
  test("row 4: is whole before it is listed", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    const first = await commit(job, "a");
    const readers = await openEngine(objects, { mode: "read" });
    const reader = await readers.store.reader(JOB);
    append(job, "w", "b");
    const publish = backend.hold({ kind: "putIfAbsent", key: GENERATION });
    const made = job.checkpoint();
    await publish.reached;
    for (const one of [job, reader]) assert.deepEqual(await uuidsOf(one), [first]);
    const manifests = await keysBelow(objects, KEYS.checkpointsPrefix);
    assert.equal(manifests.length, 2, "its manifest is there");
    const countOf = () => backend.keysOf("sync").length + backend.keysOf("write").length;
    const before = countOf();
    publish.release();
    const { uuid } = await made;
    assert.equal(countOf(), before, "nothing of it comes after its publish");
    assert.deepEqual(await restoreWriter(reader, "w", uuid), ["a", "b"]);
  });

  test("row 7: stops the open where it is torn, empty or flipped, and nothing goes", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    for (const text of ["a", "b"]) await commit(job, text);
    await store.close();
    const newest = (await keysBelow(objects, KEYS.catalogPrefix)).at(-1)!;
    const whole = await objects.get(newest);
    const half = Math.floor(whole.length / 2);
    const list = new TextEncoder().encode("[]");
    const bad = [
      new Uint8Array(0),
      list,
      whole.slice(0, half),
      whole.slice(0, -1),
      new Uint8Array(whole.length),
      flip(half)(whole),
      new TextEncoder().encode(textOf(whole).replace('"run":1', '"run":7')),
      flip(whole.length - 2)(whole),
    ];
    for (const bytes of bad) {
      await objects.put(newest, bytes);
      const before = await imageOf(objects);
      const error = await rejectsWith(openJobOn(objects), "catalog-lost");
      assert.equal(error.details.key, newest);
      assert.ok(error.message.includes(newest), error.message);
      assert.deepEqual(await imageOf(objects), before);
    }
    await objects.put(newest, whole);
    assert.deepEqual(await restoreWriter((await openJobOn(objects)).job, "w"), ["a", "b"]);
  });

  test("row 17: is what memory says, too, when a collection could not publish", async () => {
    const { job, backend } = await openJobOn();
    const [first] = [await commit(job, "a"), await commit(job, "b"), await commit(job, "c")];
    const before = await uuidsOf(job);
    const image = await imageOf(backend);
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(job.collect(AT_ONCE), "storage-unavailable");
    assert.deepEqual(await uuidsOf(job), before);
    assert.deepEqual(await imageOf(backend), image);
    assert.deepEqual((await job.collect(AT_ONCE)).removed, [first]);
    assert.ok(!(await keysBelow(backend)).includes(KEYS.manifest(first)));
  });

  test("row 26: is held against the job's fingerprint where it is restored, and only there", async () => {
    const objects = newMemory();
    const one = await openJobOn(objects, {}, { fingerprint: 1n });
    const first = await commit(one.job, "a");
    await one.store.close();
    const { job } = await openJobOn(objects, {}, { fingerprint: 2n });
    const second = await commit(job, "b");
    assert.equal((await job.resume({ at: second })).checkpoint?.uuid, second);
    const error = await rejectsWith(job.resume({ at: first }), "fingerprint-mismatch");
    const { uuid, found, wanted } = error.details;
    assert.deepEqual([uuid, found, wanted], [first, 1n, 2n]);
    await job.resume({ at: first, acceptFingerprints: [1n] });
    assert.deepEqual(await restoreWriter(job, "w"), ["a"]);
  });

  test("row 27: is what the catalog lists: a manifest alone is no checkpoint", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    const first = await commit(job, "a");
    append(job, "w", "b");
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(job.checkpoint(), "storage-unavailable");
    const manifests = await keysBelow(objects, KEYS.checkpointsPrefix);
    const partial = manifests.map((key) => key.slice(-41, -5)).find((uuid) => uuid !== first)!;
    for (
      const action of [
        () => job.resume({ at: partial }),
        () => restoreWriter(job, "w", partial),
        () => job.pin(partial),
        () => job.checkpointDetails(partial),
      ]
    ) await rejectsWith(action, "checkpoint-not-found");
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"], "the job goes on");
  });

  test("row 36: is one after another, whoever asks, and nothing of it is lost", async () => {
    const { job, store } = await openJobOn();
    const first = await commit(job, "a");
    const other = await store.job(JOB);
    append(job, "w", "b");
    const [one, , two] = await Promise.all([
      job.checkpoint(),
      job.pin(first, "kept"),
      other.checkpoint(),
      other.collect(AT_ONCE),
      job.setRetention({ minCount: 3 }),
    ]);
    const listed = await job.checkpoints();
    assert.deepEqual(listed.map(({ uuid }) => uuid), [first, one.uuid, two.uuid]);
    assert.deepEqual(listed.map(({ parent }) => parent), [undefined, first, one.uuid]);
    assert.equal(listed[0].pin, "kept");
    assert.equal(job.retention.minCount, 3);
  });
});

describe("what is counted", () => {
  test("row 21: is an object once when it is replaced, and as it was when that fails", async () => {
    const backend = new FaultyBackend(newMemory());
    const room = new StoreRoom(backend, new Surroundings(), { storeBytesMax: 100, jobBytesMax: 0 });
    const limited = new LimitedBackend(backend, room);
    await room.recount();
    const hasJust = async (free: number) => {
      await room.require("other", free);
      await rejectsWith(room.require("other", free + 1), "storage-full");
    };
    await limited.put("k", new Uint8Array(60));
    await hasJust(40);
    await limited.put("k", new Uint8Array(30));
    await hasJust(70);
    backend.fail({ kind: "put" });
    await rejectsWith(limited.put("k", new Uint8Array(5)), "storage-unavailable");
    await hasJust(70);
    backend.fail({ kind: "put", when: "after" });
    await rejectsWith(limited.put("k", new Uint8Array(5)), "storage-unavailable");
    await hasJust(95);
  });
});

describe("what fails", () => {
  test("row 8: one old manifest that can't be read, and is to stay, stops collections, and nothing else", async () => {
    const objects = newMemory();
    const { job, store } = await openJobOn(objects);
    const [first] = [await commit(job, "a"), await commit(job, "b")];
    await store.close();
    await rewrite(objects, KEYS.manifest(first), flip(150));
    const { job: again } = await openJobOn(objects);
    const third = await commit(again, "c");
    assert.deepEqual(await restoreWriter(again, "w", third), ["a", "b", "c"]);
    const before = await imageOf(objects);
    await rejectsWith(again.collect({ ...AT_ONCE, except: [first] }), "corrupt");
    assert.deepEqual(await imageOf(objects), before);
    const { problems } = await again.verify();
    assert.deepEqual(problems.map(({ key }) => key), [KEYS.manifest(first)]);
    await again.resume({ at: "latest" });
    assert.deepEqual(await restoreWriter(again, "w"), ["a", "b", "c"]);
  });

  test("row 8: one that retention lets go stops nothing, and takes nothing along that it may need", async () => {
    const { job, backend, store } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    const first = await commit(job, "a");
    const [file] = await changeFiles(backend);
    materialise(job);
    const second = await commit(job, "b");
    for (const text of ["c", "d"]) await commit(job, text);
    await store.close();
    await rewrite(backend, KEYS.manifest(first), flip(150));
    const { job: again } = await openJobOn(backend, { changeFileBytesMax: 1 });
    await commit(again, "e");
    const report = await again.collect();
    assert.deepEqual(report.problems.map(({ key }) => key), [KEYS.manifest(first)]);
    const resting = (await again.checkpoints()).filter((one) => one.quarantinedAtMs !== undefined);
    assert.equal(resting.length, 3);
    assert.ok(
      (await changeFiles(backend)).includes(file),
      "it may need any file as long as it rests",
    );
    const gone = await again.collect(AT_ONCE);
    assert.deepEqual(gone.problems, []);
    assert.deepEqual(gone.removed.slice(0, 2), [first, second]);
    assert.ok(!(await changeFiles(backend)).includes(file));
    assert.deepEqual((await again.verify()).problems, []);
  });

  test("row 13: a checkpoint that finds no room is an error, and the job goes on", async () => {
    const { job, backend } = await openJobOn();
    await commit(job, "a");
    for (const key of [MANIFEST, GENERATION]) {
      append(job, "w", "more");
      backend.fail({ kind: "putIfAbsent", key, error: fullDisk() });
      await rejectsWith(job.checkpoint(), "storage-full");
      await appendDurably(job, "w", "and more");
      assert.equal((await uuidsOf(job)).length, 1);
    }
    const { uuid } = await job.checkpoint();
    const texts = ["a", "more", "and more", "more", "and more"];
    assert.deepEqual(await restoreWriter(job, "w", uuid), texts);
  });

  test("row 16: a checkpoint that failed holds nothing: what it wrote goes, what it held goes with its time", async () => {
    const { job, backend } = await openJobOn(newMemory(), { changeFileBytesMax: 1 });
    await job.setRetention({ minCount: 1 });
    append(job, "w", "a");
    backend.fail({ kind: "putIfAbsent", key: GENERATION });
    await rejectsWith(job.checkpoint(), "storage-unavailable");
    const [file] = await changeFiles(backend);
    assert.equal((await keysBelow(backend, KEYS.checkpointsPrefix)).length, 1);
    await job.collect(AT_ONCE);
    assert.deepEqual(await keysBelow(backend, KEYS.checkpointsPrefix), [], "its manifest");
    assert.deepEqual(await changeFiles(backend), [file], "not what the tail needs");
    materialise(job);
    const uuid = await commit(job, "b");
    await job.collect(AT_ONCE);
    assert.ok(!(await changeFiles(backend)).includes(file), "what only it would have needed");
    assert.deepEqual(await restoreWriter(job, "w", uuid), ["b"]);
  });

  test("row 11: an opener that finds the job busy, or its catalog bad, has changed nothing", async () => {
    const objects = newMemory();
    const { job, backend } = await openJobOn(objects);
    for (const text of ["a", "b", "c"]) await commit(job, text);
    const before = await imageOf(objects);
    const late = await openEngine(objects);
    const busy = new TidemarkError("job-busy", "Made by a test");
    late.backend.fail({ kind: "lock", error: busy });
    await rejectsWith(late.store.job(JOB), "job-busy");
    assert.deepEqual(await imageOf(objects), before);
    const { log } = late.backend;
    const changing = ["put", "putIfAbsent", "delete", "createAppender", "deleteTemporary"];
    assert.deepEqual(log.filter(({ kind }) => changing.includes(kind)), []);
    await commit(job, "d");
    assert.equal(backend.keysOf("lock").length, 1);
  });
});
