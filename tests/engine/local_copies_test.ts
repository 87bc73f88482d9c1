import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoreSettings } from "../../src/engine/settings.ts";
import {
  append,
  appendDurably,
  CHANGE_FILE,
  changeFiles,
  flip,
  imageOf,
  JOB,
  MANIFEST,
  rejectsWith,
  restore,
  restoreWriter,
  rewrite,
  turn,
} from "./_engine.ts";
import { copies, filesRead, newPlaces, openLocalJob, openLocalStore } from "./_local_engine.ts";

/** A file for every batch. */
const SMALL: Partial<StoreSettings> = { changeFileBytesMax: 1 };

describe("a job with local copies", () => {
  test("says of what it persisted that there is a local copy", async () => {
    const places = newPlaces();
    const { job } = await openLocalJob(places);
    append(job, "w", "a");
    const { isLocal, segments } = await job.writer("w").persist();
    assert.equal(isLocal, true);
    assert.deepEqual(segments.map(({ localKey }) => localKey), await changeFiles(places.main));
    assert.deepEqual(await copies(places), await changeFiles(places.main));
  });

  test("says so of all segments, or of none", async () => {
    const { job, local } = await openLocalJob(newPlaces(), SMALL);
    append(job, "w", "a");
    assert.equal((await job.writer("w").persist(0)).isLocal, true);
    local.fail({ kind: "write" });
    append(job, "w", "b");
    const { isLocal, segments } = await job.writer("w").persist(0);
    assert.equal(isLocal, false);
    assert.deepEqual(segments.map(({ localKey }) => localKey !== undefined), [true, false]);
    append(job, "w", "c");
    assert.equal((await job.writer("w").persist(2)).isLocal, true);
  });

  test("no longer says so when the copy has failed since", async () => {
    const { job, local } = await openLocalJob();
    append(job, "w", "a");
    assert.equal((await job.writer("w").persist(0)).isLocal, true);
    local.fail({ kind: "write" });
    append(job, "w", "b");
    await job.writer("w").persist();
    const { isLocal, segments } = await job.writer("w").persist(0);
    assert.equal(isLocal, false);
    assert.deepEqual(segments.map(({ localKey }) => localKey), [undefined, undefined]);
  });

  test("does as well when the local place always fails", async () => {
    const places = newPlaces();
    const { job, local } = await openLocalJob(places);
    local.fail({ key: CHANGE_FILE, times: Infinity });
    append(job, "w", "a", "b");
    assert.equal((await job.writer("w").persist(0)).isLocal, false);
    await job.checkpoint();
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"]);
    await job.resume();
    await appendDurably(job, "w", "c");
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b", "c"]);
    await job.close();
  });

  test("refuses a place in which something else is, and lets go of its place at the end", async () => {
    const places = newPlaces();
    await places.local.put("somebody-elses", new Uint8Array(1));
    await rejectsWith(openLocalJob(places), "not-a-store");
    const { store, local } = await openLocalStore(newPlaces());
    await store.close();
    assert.deepEqual(local.keysOf("close"), [""]);
  });

  test("copies what it recovers, too", async () => {
    for (const settings of [{}, SMALL]) {
      const places = newPlaces();
      const { job } = await openLocalJob(places);
      await appendDurably(job, "w", "a");
      // Without an end, as after a kill.
      const { job: next } = await openLocalJob(places, settings);
      assert.equal(next.recovery.copiedBatches, 1);
      assert.deepEqual(await copies(places), (await changeFiles(places.main)).slice(-1));
      assert.deepEqual(await restoreWriter(next, "w"), ["a"]);
    }
  });
});

describe("a restore with local copies", () => {
  test("reads the copies, and the main files not at all", async () => {
    const { job, main, fallbacks } = await openLocalJob(newPlaces(), SMALL);
    for (const text of ["a", "b", "c"]) await appendDurably(job, "w", text);
    await job.checkpoint();
    await turn();
    const before = main.log.length;
    for (const at of ["tail", "latest"]) {
      assert.deepEqual(await restoreWriter(job, "w", at), ["a", "b", "c"]);
    }
    assert.deepEqual(filesRead(main, before), []);
    assert.equal(fallbacks(), 0);
  });

  test("reads the main file where there is no copy, uncounted", async () => {
    const places = newPlaces();
    const { job, main, fallbacks } = await openLocalJob(places, SMALL);
    for (const text of ["a", "b", "c"]) await appendDurably(job, "w", text);
    const [, second] = await copies(places);
    await places.local.delete(second);
    const before = main.log.length;
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "b", "c"]);
    assert.deepEqual(filesRead(main, before), [second]);
    assert.equal(fallbacks(), 0);
  });

  test("falls back, counted, when a bit of a copy has flipped, wherever it is", async () => {
    const places = newPlaces();
    const { job, fallbacks } = await openLocalJob(places);
    await appendDurably(job, "w", "a".repeat(300), "b");
    await appendDurably(job, "w", "c");
    const [key] = await copies(places);
    const whole = await places.local.get(key);
    const wanted = await restore(job, { at: "tail" });
    let counted = 0;
    for (let at = 0; at < whole.length; at++) {
      await places.local.put(key, flip(at)(whole));
      assert.deepEqual(await restore(job, { at: "tail" }), wanted, `byte ${at}`);
      assert.ok(fallbacks() - counted <= 1, `byte ${at} is counted ${fallbacks() - counted} times`);
      counted = fallbacks();
    }
    // Every byte of a change file is checked, but for what the LZ4 frame says a second time.
    assert.ok(counted > whole.length * 0.9, `${counted} of ${whole.length} bytes`);
  });

  test("falls back when a copy is cut, wherever that is", async () => {
    const places = newPlaces();
    const { job, fallbacks } = await openLocalJob(places);
    await appendDurably(job, "w", "a", "b");
    const [key] = await copies(places);
    const whole = await places.local.get(key);
    for (const length of [0, 1, 100, whole.length - 1]) {
      await places.local.put(key, whole.subarray(0, length));
      const before = fallbacks();
      assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"]);
      assert.equal(fallbacks(), before + 1, `cut to ${length}`);
    }
  });

  test("falls back when a copy can't be looked up or read, at any call", async () => {
    const { job, local, fallbacks } = await openLocalJob(newPlaces(), SMALL);
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    await turn();
    const before = local.log.length;
    await restoreWriter(job, "w");
    const calls = local.log.length - before;
    assert.ok(calls >= 4, `${calls} calls`);
    for (let skip = 0; skip < calls; skip++) {
      const counted = fallbacks();
      local.fail({ skip });
      assert.deepEqual(await restoreWriter(job, "w"), ["a", "b"], `call ${skip}`);
      local.mend();
      assert.equal(fallbacks(), counted + 1, `call ${skip}`);
    }
  });

  test("finds what is lost at the main place all the same: verify does not look at copies", async () => {
    const places = newPlaces();
    const { job } = await openLocalJob(places);
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    const [key] = await copies(places);
    await rewrite(places.main, key, (bytes) => bytes.subarray(0, bytes.length - 1));
    assert.deepEqual(await restoreWriter(job, "w"), ["a"]);
    assert.equal((await job.verify()).ok, false);
    await places.local.delete(key);
    await rejectsWith(restoreWriter(job, "w"), "changes-lost");
  });

  test("tells of the main file when both are bad", async () => {
    const places = newPlaces();
    const { job, fallbacks } = await openLocalJob(places);
    await appendDurably(job, "w", "a");
    const [key] = await copies(places);
    for (const place of [places.main, places.local]) await rewrite(place, key, flip(40));
    await rejectsWith(restoreWriter(job, "w"), "corrupt");
    assert.equal(fallbacks(), 1);
  });

  test("ends at a signal, and does not take that for a bad copy", async () => {
    const { job, fallbacks } = await openLocalJob(newPlaces(), SMALL);
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    await turn();
    const abort = new AbortController();
    const stream = job.restore({ at: "tail", signal: abort.signal });
    await assert.rejects(async () => {
      for await (const _change of stream) abort.abort(new Error("enough"));
    });
    assert.equal(fallbacks(), 0);
  });

  test("is served from copies in a store that is open for reading, too", async () => {
    const places = newPlaces();
    const owner = await openLocalJob(places);
    await appendDurably(owner.job, "w", "a");
    await owner.job.checkpoint();
    await owner.store.close();
    const { store, main, local } = await openLocalStore(places, { mode: "read" });
    await using reader = await store.reader(JOB);
    const image = await imageOf(places.local);
    assert.deepEqual(await restoreWriter(reader, "w", "latest"), ["a"]);
    assert.deepEqual(filesRead(main), []);
    assert.deepEqual(filesRead(local), await copies(places));
    assert.deepEqual(await imageOf(places.local), image);
  });
});

describe("local copies", () => {
  test("go with the checkpoint that no longer needs them, and stay until then", async () => {
    const places = newPlaces();
    const { job } = await openLocalJob(places, SMALL);
    const writer = job.writer("w");
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    await job.checkpoint();
    const [a, b] = await copies(places);
    writer.truncate(writer.nextSequenceNumber());
    await appendDurably(job, "w", "c");
    assert.deepEqual((await copies(places)).slice(0, 2), [a, b]);
    await job.checkpoint();
    const kept = await copies(places);
    assert.equal(kept.length, 1);
    assert.deepEqual(kept, (await changeFiles(places.main)).slice(-1));
    assert.deepEqual(await restoreWriter(job, "w"), ["c"]);
  });

  test("stay when a checkpoint fails: earlier ones need them, and the next one will", async () => {
    const places = newPlaces();
    const { job, main } = await openLocalJob(places, SMALL);
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    await appendDurably(job, "w", "b");
    const before = await copies(places);
    assert.equal(before.length, 2);
    main.fail({ kind: "putIfAbsent", key: MANIFEST });
    await rejectsWith(job.checkpoint(), "storage-unavailable");
    assert.deepEqual(await copies(places), before);
    await job.checkpoint();
    assert.deepEqual(await copies(places), before);
    assert.deepEqual(await restoreWriter(job, "w", "latest"), ["a", "b"]);
  });

  test("stay when their sets are materialised during the checkpoint that needs them", async () => {
    const places = newPlaces();
    const { job, main } = await openLocalJob(places, SMALL);
    const writer = job.writer("w");
    await appendDurably(job, "w", "a");
    await job.checkpoint();
    const held = main.hold({ kind: "putIfAbsent", key: MANIFEST });
    const checkpointing = job.checkpoint();
    await held.reached;
    writer.truncate(writer.nextSequenceNumber());
    held.release();
    await checkpointing;
    assert.deepEqual(await copies(places), await changeFiles(places.main));
    assert.equal((await copies(places)).length, 1);
    assert.deepEqual(await restoreWriter(job, "w", "latest"), ["a"]);
    await job.checkpoint();
    assert.deepEqual(await copies(places), []);
  });

  test("of files begun during a checkpoint stay, since the tail needs them", async () => {
    const places = newPlaces();
    const { job, main } = await openLocalJob(places, SMALL);
    await appendDurably(job, "w", "a");
    const held = main.hold({ kind: "putIfAbsent", key: MANIFEST });
    const checkpointing = job.checkpoint();
    await held.reached;
    await appendDurably(job, "w", "b");
    held.release();
    await checkpointing;
    assert.equal((await copies(places)).length, 2);
    await job.checkpoint();
    assert.equal((await copies(places)).length, 2);
  });

  test("of what a resume leaves behind go", async () => {
    const places = newPlaces();
    const { job } = await openLocalJob(places, SMALL);
    await appendDurably(job, "w", "a");
    const { uuid } = await job.checkpoint();
    const [kept] = await copies(places);
    for (const text of ["b", "c"]) await appendDurably(job, "w", text);
    await job.resume({ at: uuid });
    assert.deepEqual(await copies(places), [kept]);
    await appendDurably(job, "w", "d");
    assert.deepEqual(await restoreWriter(job, "w"), ["a", "d"]);
  });

  test("stay over a resume at the tail", async () => {
    const places = newPlaces();
    const { job } = await openLocalJob(places, SMALL);
    for (const text of ["a", "b"]) await appendDurably(job, "w", text);
    const before = await copies(places);
    await job.resume({ at: "tail" });
    assert.deepEqual(await copies(places), before);
  });

  test("are all there after a close, and serve the next owner", async () => {
    const places = newPlaces();
    const owner = await openLocalJob(places, SMALL);
    for (const text of ["a", "b"]) await appendDurably(owner.job, "w", text);
    await owner.job.checkpoint();
    const before = await copies(places);
    await owner.store.close();
    assert.deepEqual(await copies(places), before);
    const { job, main } = await openLocalJob(places, SMALL);
    const since = main.log.length;
    assert.deepEqual(await restoreWriter(job, "w", "latest"), ["a", "b"]);
    assert.deepEqual(filesRead(main, since), []);
    const writer = job.writer("w");
    writer.truncate(writer.nextSequenceNumber());
    await job.checkpoint();
    // The new checkpoint needs none of them.
    await job.resume({ at: "latest" });
    assert.deepEqual(await copies(places), []);
  });

  test("that nothing needs, or that are too short, are swept at the next open", async () => {
    const places = newPlaces();
    const owner = await openLocalJob(places, SMALL);
    for (const text of ["a", "b"]) await appendDurably(owner.job, "w", text);
    await owner.job.checkpoint();
    await owner.store.close();
    const [a, b] = await copies(places);
    const stale = a.replace(/-0000000000000000000[0-9]-/, "-00000000000000000099-");
    await places.local.put(stale, await places.local.get(a));
    await places.local.put(`jobs/${JOB}/changelog/main/notes.txt`, new Uint8Array(1));
    await places.local.put(a.replace(JOB, "other"), new Uint8Array(1));
    await rewrite(places.local, b, (bytes) => bytes.subarray(0, bytes.length / 2));
    const { job } = await openLocalJob(places, SMALL);
    assert.deepEqual(await copies(places), [a, `jobs/${JOB}/changelog/main/notes.txt`].sort());
    assert.notEqual(await places.local.head(a.replace(JOB, "other")), undefined);
    assert.deepEqual(await restoreWriter(job, "w", "latest"), ["a", "b"]);
  });

  test("that can't be swept keep no job from opening", async () => {
    const places = newPlaces();
    const { store, local, ports } = await openLocalStore(places);
    local.fail({ kind: "list" });
    const job = await store.job(JOB);
    assert.deepEqual(ports.logger.messages("warning"), ["Cannot sweep local copies"]);
    append(job, "w", "a");
    assert.equal((await job.writer("w").persist()).isLocal, true);
  });
});
