import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Tail } from "../../../src/engine/changelog/tail.ts";
import { Catalog } from "../../../src/engine/checkpoint/catalog.ts";
import {
  readAdopted,
  readManifest,
  readNewestGeneration,
} from "../../../src/engine/checkpoint/catalog_read.ts";
import { Checkpointer } from "../../../src/engine/checkpoint/checkpointer.ts";
import type { CheckpointOptions } from "../../../src/engine/types.ts";
import { end, set, TailBench } from "../changelog/_tail_bench.ts";
import { keysBelow, MANIFEST, rejectsWith, throwsWith } from "../_engine.ts";
import { newPlace, type PlaceBench } from "./_place.ts";

interface Bench extends PlaceBench {
  readonly checkpointer: Checkpointer;
}

/** A job that epoch 1 has fenced. */
async function newBench(): Promise<Bench> {
  const bench = newPlace();
  const { place, ports } = bench;
  const checkpointer = new Checkpointer(place, ports, new Catalog(place, ports, undefined));
  await checkpointer.fence(1, 5n);
  return { ...bench, checkpointer };
}

const POSITION = { tailFrom: { epoch: 1, number: 3 }, writers: [end(2, 7), end(0, 0, "idle")] };

async function tailOf(sets: number): Promise<Tail> {
  const file = await new TailBench().file({ batches: [[set(0, 0, ["a"])]] });
  return {
    files: sets === 0 ? [] : [file.upTo(0)],
    writers: new Map([["w", end(sets, sets)]]),
    unproven: [],
    known: new Map(),
    proven: new Map(),
    torn: [],
    sets,
    changes: sets,
  };
}

describe("Checkpointer.fence", () => {
  test("begins a new job at run 1, with nothing in it", async () => {
    const { checkpointer, place } = await newBench();
    const { reason, epoch, run, fingerprint, head, tailFrom, adopted, checkpoints } =
      (await readNewestGeneration(place))!;
    assert.deepEqual([reason, epoch, run, fingerprint], ["fence", 1, 1, 5n]);
    assert.deepEqual([head, tailFrom, adopted], [null, { epoch: 1, number: 0 }, null]);
    assert.deepEqual(checkpoints, []);
    assert.deepEqual(checkpointer.newest, await readNewestGeneration(place));
  });

  test("keeps all but the epoch, and the fingerprint unless another is given", async () => {
    const { checkpointer } = await newBench();
    await checkpointer.commit({}, POSITION, { files: [] });
    const { head, tailFrom, checkpoints } = checkpointer.newest;
    const kept = await checkpointer.fence(4, undefined);
    assert.deepEqual([kept.epoch, kept.run, kept.fingerprint], [4, 1, 5n]);
    assert.deepEqual([kept.head, kept.tailFrom, kept.checkpoints], [head, tailFrom, checkpoints]);
    assert.equal((await checkpointer.fence(5, 6n)).fingerprint, 6n);
  });

  for (const fingerprint of [-1n, 2n ** 64n, 5, "5"]) {
    test(`refuses ${typeof fingerprint} ${fingerprint} as a fingerprint, and writes nothing`, async () => {
      const { place, ports, backend } = newPlace();
      const checkpointer = new Checkpointer(place, ports, new Catalog(place, ports, undefined));
      const name = typeof fingerprint === "bigint" ? "RangeError" : "TypeError";
      await assert.rejects(async () => await checkpointer.fence(1, fingerprint as bigint), {
        name,
      });
      assert.deepEqual(await keysBelow(backend), []);
    });
  }

  test("takes the largest fingerprint there is", async () => {
    const { checkpointer, place } = await newBench();
    await checkpointer.fence(2, 2n ** 64n - 1n);
    assert.equal((await readNewestGeneration(place))?.fingerprint, 2n ** 64n - 1n);
  });
});

describe("Checkpointer.publishRecovered", () => {
  test("says what was adopted, and that nothing older belongs to the tail", async () => {
    const { checkpointer, place } = await newBench();
    const tail = await tailOf(1);
    const { reason, tailFrom, adopted } = await checkpointer.publishRecovered(tail, tail.files);
    assert.equal(reason, "recovered");
    assert.deepEqual(tailFrom, { epoch: 1, number: 0 });
    const { files, writers } = (await readAdopted(place, adopted))!;
    assert.deepEqual(files.map(({ key, length }) => [key, length]), [
      [tail.files[0].key, tail.files[0].length],
    ]);
    assert.deepEqual(writers, [end(1, 1)]);
  });

  test("moves the begin of the tail to the own epoch, whatever the one before said", async () => {
    const { checkpointer, place } = await newBench();
    await checkpointer.commit({}, POSITION, { files: [] });
    await checkpointer.fence(2, undefined);
    await checkpointer.publishRecovered(await tailOf(0), []);
    const { tailFrom, head } = (await readNewestGeneration(place))!;
    assert.deepEqual(tailFrom, { epoch: 2, number: 0 });
    assert.notEqual(head, null);
  });

  test("writes no object when there was nothing to adopt", async () => {
    const { checkpointer, backend, keys } = await newBench();
    const { adopted } = await checkpointer.publishRecovered(await tailOf(0), []);
    assert.equal(adopted, null);
    assert.deepEqual(await keysBelow(backend, keys.adoptedPrefix), []);
  });

  test("does not rely on a name of which it is not known whether it is there", async () => {
    const { checkpointer, backend, keys, place } = await newBench();
    backend.fail({ kind: "putIfAbsent", key: /\/adopted\//, when: "after" });
    const tail = await tailOf(1);
    const { adopted } = await checkpointer.publishRecovered(tail, tail.files);
    const written = await keysBelow(backend, keys.adoptedPrefix);
    assert.equal(written.length, 2);
    assert.ok(await readAdopted(place, adopted));
    assert.equal(
      adopted?.key,
      backend.keysOf("putIfAbsent").filter((key) => /adopted/.test(key))[1],
    );
  });
});

describe("Checkpointer.publishResume", () => {
  test("begins the next run at a checkpoint, with nothing adopted", async () => {
    const { checkpointer } = await newBench();
    const { entry } = await checkpointer.commit({}, POSITION, { files: [] });
    await checkpointer.commit({}, POSITION, { files: [] });
    const { reason, epoch, run, head, tailFrom, adopted, checkpoints } = await checkpointer
      .publishResume(2, { head: entry.uuid });
    assert.deepEqual([reason, epoch, run, head], ["resume", 2, 2, entry.uuid]);
    assert.deepEqual([tailFrom, adopted], [{ epoch: 2, number: 0 }, null]);
    assert.equal(checkpoints.length, 2);
  });

  test("begins the next run at the tail, with all of it adopted, and the head as it was", async () => {
    const { checkpointer, place } = await newBench();
    const { entry } = await checkpointer.commit({}, POSITION, { files: [] });
    const tail = await tailOf(1);
    const { run, head, tailFrom, adopted } = await checkpointer.publishResume(2, { tail });
    assert.deepEqual([run, head, tailFrom], [2, entry.uuid, { epoch: 2, number: 0 }]);
    assert.deepEqual((await readAdopted(place, adopted))?.writers, [end(1, 1)]);
  });
});

describe("Checkpointer.commit", () => {
  test("writes the manifest, then publishes it as head", async () => {
    const { checkpointer, place, backend, ports, keys } = await newBench();
    const { files } = await tailOf(1);
    const options: CheckpointOptions = {
      identifier: "noon",
      steps: 2n ** 64n - 1n,
      processedRecords: 3n,
      metadata: { source: [1, null, "x"] },
    };
    const before = backend.log.length;
    const { entry } = await checkpointer.commit(options, POSITION, { files });
    const puts = backend.log.slice(before).filter(({ kind }) => kind === "putIfAbsent");
    assert.deepEqual(puts.map(({ key }) => key), [keys.manifest(entry.uuid), keys.generation(2)]);
    const { reason, head, tailFrom, checkpoints } = (await readNewestGeneration(place))!;
    assert.deepEqual([reason, head, tailFrom], ["checkpoint", entry.uuid, POSITION.tailFrom]);
    assert.deepEqual(checkpoints, [entry]);
    const manifest = await readManifest(place, entry.manifest);
    for (const body of [entry, manifest]) {
      const { uuid, parent, fingerprint, identifier, steps, processedRecords, epoch, run } = body;
      assert.deepEqual([uuid, parent, fingerprint, epoch, run], [entry.uuid, null, 5n, 1, 1]);
      assert.deepEqual([identifier, steps, processedRecords], ["noon", 2n ** 64n - 1n, 3n]);
      assert.equal(body.createdAtMs, ports.clock.nowMs());
    }
    assert.deepEqual(manifest.metadata, options.metadata);
    assert.deepEqual(
      manifest.writers.map((
        { writer, sequenceNumber, nextOffset },
      ) => [writer, sequenceNumber, nextOffset]),
      [["w", 2, 7], ["idle", 0, 0]],
    );
    assert.deepEqual(
      manifest.files.map((
        { key, store, epoch, number, uuid, length },
      ) => [key, store, epoch, number, uuid, length]),
      files.map((
        { key, name, length },
      ) => [key, place.store, name.epoch, name.number, name.uuid, length]),
    );
    assert.equal(entry.size, files[0].length + entry.manifest.size);
  });

  test("takes the head before it for its parent, and empties what was adopted", async () => {
    const { checkpointer } = await newBench();
    const tail = await tailOf(1);
    await checkpointer.publishRecovered(tail, tail.files);
    const first = await checkpointer.commit({}, POSITION, { files: [] });
    assert.equal(checkpointer.newest.adopted, null);
    const second = await checkpointer.commit({}, POSITION, { files: [] });
    assert.equal(second.entry.parent, first.entry.uuid);
    assert.equal(second.manifest.parent, first.entry.uuid);
  });

  test("publishes nothing when the manifest can't be written", async () => {
    const { checkpointer, backend } = await newBench();
    backend.fail({ kind: "putIfAbsent", key: MANIFEST });
    const error = await rejectsWith(
      checkpointer.commit({}, POSITION, { files: [] }),
      "storage-unavailable",
    );
    assert.equal(error.outcome, "not-applied");
    assert.deepEqual(checkpointer.newest.checkpoints, []);
    assert.equal((await checkpointer.commit({}, POSITION, { files: [] })).entry.parent, null);
  });

  test("does not rely on a manifest of which it is not known whether it is there", async () => {
    const { checkpointer, backend, place, keys } = await newBench();
    backend.fail({ kind: "putIfAbsent", key: MANIFEST, when: "after" });
    const { entry } = await checkpointer.commit({ identifier: "noon" }, POSITION, { files: [] });
    const manifests = backend.keysOf("putIfAbsent").filter((key) => MANIFEST.test(key));
    assert.equal(manifests.length, 2);
    assert.equal(entry.manifest.key, manifests[1]);
    assert.equal(entry.manifest.key, keys.manifest(entry.uuid));
    assert.equal((await readManifest(place, entry.manifest)).uuid, entry.uuid);
  });

  test("does not take what stands under a manifest's name for its own", async () => {
    const { checkpointer, backend } = await newBench();
    const put = backend.putIfAbsent.bind(backend);
    backend.putIfAbsent = (key, ...more) =>
      MANIFEST.test(key) ? Promise.resolve("exists") : put(key, ...more);
    await rejectsWith(checkpointer.commit({}, POSITION, { files: [] }), "object-exists");
    assert.deepEqual(checkpointer.newest.checkpoints, []);
  });

  test("says that no checkpoint was made when no manifest is known to be there", async () => {
    const { checkpointer, backend } = await newBench();
    backend.fail({ kind: "putIfAbsent", key: MANIFEST, when: "after", times: 3 });
    const error = await rejectsWith(
      checkpointer.commit({}, POSITION, { files: [] }),
      "storage-unavailable",
    );
    assert.equal(error.outcome, "not-applied");
    assert.deepEqual(checkpointer.newest.checkpoints, []);
  });
});

describe("Checkpointer.checkOptions", () => {
  const bad: readonly (readonly [string, unknown, string])[] = [
    ["identifier", 7, "TypeError"],
    ["steps", 7, "TypeError"],
    ["steps", -1n, "RangeError"],
    ["processedRecords", 2n ** 64n, "RangeError"],
    ["processedRecords", "7", "TypeError"],
    ["metadata", () => 7, "TypeError"],
    ["metadata", { at: 7n }, "TypeError"],
  ];
  for (const [what, value, name] of bad) {
    test(`refuses ${what} that is ${typeof value} ${String(value)}`, async () => {
      const { checkpointer } = await newBench();
      const options = { [what]: value } as CheckpointOptions;
      assert.throws(() => checkpointer.checkOptions(options), { name, message: new RegExp(what) });
    });
  }

  test("keeps metadata as it was, whatever becomes of it", async () => {
    const { checkpointer } = await newBench();
    const metadata = { at: [1] };
    const options = checkpointer.checkOptions({ metadata });
    metadata.at.push(2);
    assert.deepEqual(options.metadata, { at: [1] });
  });

  test("takes metadata of 64 KiB as JSON, and refuses more", async () => {
    const { checkpointer } = await newBench();
    const metadata = "é".repeat((64 * 1024 - 2) / 2);
    checkpointer.checkOptions({ metadata });
    const error = throwsWith(
      () => checkpointer.checkOptions({ metadata: `${metadata}x` }),
      "invalid-request",
    );
    assert.deepEqual(error.details, { size: 64 * 1024 + 1, sizeMax: 64 * 1024 });
  });

  test("refuses an identifier that makes the catalog's entry too large", async () => {
    const { checkpointer } = await newBench();
    checkpointer.checkOptions({ identifier: "x".repeat(200) });
    throwsWith(
      () => checkpointer.checkOptions({ identifier: "x".repeat(1024) }),
      "invalid-request",
    );
  });

  test("refuses more than 1,000 checkpoints", async () => {
    const { place, ports, checkpointer } = await newBench();
    const { entry } = await checkpointer.commit({}, POSITION, { files: [] });
    const newest = {
      ...checkpointer.newest,
      checkpoints: Array.from({ length: 1000 }, () => entry),
    };
    const full = new Checkpointer(place, ports, new Catalog(place, ports, newest));
    assert.equal(full.isFull, true);
    throwsWith(() => full.checkRoom(), "too-many-checkpoints");
    checkpointer.checkRoom();
  });
});
