import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Catalog } from "../../../src/engine/checkpoint/catalog.ts";
import { readAdopted, readNewestGeneration } from "../../../src/engine/checkpoint/catalog_read.ts";
import { encodeAdopted } from "../../../src/engine/format/adopted.ts";
import { encodeGeneration } from "../../../src/engine/format/generation.ts";
import { xxh64 } from "../../../wasm/mod.ts";
import { flip, GENERATION, JOB, keysBelow, rejectsWith, rewrite } from "../_engine.ts";
import { contentOf, newPlace, type PlaceBench } from "./_place.ts";

const UUID = "01890a5d-ac96-774b-bcce-b302099a8057";

/** Publishes so many generations; each one's run is its number. */
async function publish({ place, ports }: PlaceBench, count: number): Promise<Catalog> {
  const catalog = new Catalog(place, ports, undefined);
  for (let run = 1; run <= count; run++) await catalog.publish(() => contentOf(1, { run }));
  return catalog;
}

describe("readNewestGeneration", () => {
  test("finds nothing where nothing is, or only what an open leaves that died early", async () => {
    const { place, keys, backend } = newPlace();
    assert.equal(await readNewestGeneration(place), undefined);
    for (const key of [keys.owner(1), keys.lock, keys.reader("a"), `${keys.prefix}private/x`]) {
      await backend.put(key, new Uint8Array(1));
    }
    assert.equal(await readNewestGeneration(place), undefined);
  });

  const { keys } = newPlace();
  const objects = {
    "change file": keys.changeFile({ log: "main", epoch: 1, number: 1, uuid: UUID }),
    "state object": `${keys.statesPrefix}00000000000000000001-${UUID}.lz4`,
    "manifest": keys.manifest(UUID),
    "adopted object": keys.adopted(1, UUID),
  };
  for (const [what, key] of Object.entries(objects)) {
    test(`takes a ${what} without any generation for a lost catalog, and touches nothing`, async () => {
      const { place, backend } = newPlace();
      await backend.put(key, new Uint8Array(1));
      const error = await rejectsWith(readNewestGeneration(place), "catalog-lost");
      assert.deepEqual(error.details, { key });
      assert.match(error.message, /restore \S+ from a backup/);
      assert.deepEqual(await keysBelow(backend), [key]);
    });
  }

  test("takes the highest number, readable or not", async () => {
    const bench = newPlace();
    await publish(bench, 2);
    const key = bench.keys.generation(2);
    const bytes = await bench.backend.get(key);
    for (let at = 0; at < bytes.length; at += 7) {
      await rewrite(bench.backend, key, flip(at));
      const error = await rejectsWith(readNewestGeneration(bench.place), "catalog-lost");
      assert.equal(error.details.key, key);
      assert.match(error.message, /restore \S+ from a backup/);
      await bench.backend.put(key, bytes);
    }
    await bench.backend.put(key, new Uint8Array(0));
    await rejectsWith(readNewestGeneration(bench.place), "catalog-lost");
  });

  test("refuses a generation that was moved to another number or store", async () => {
    const bench = newPlace();
    await publish(bench, 1);
    const bytes = await bench.backend.get(bench.keys.generation(1));
    await bench.backend.put(bench.keys.generation(5), bytes);
    await rejectsWith(readNewestGeneration(bench.place), "catalog-lost");
    const other = newPlace(9);
    await other.backend.put(other.keys.generation(1), bytes);
    await rejectsWith(readNewestGeneration(other.place), "catalog-lost");
  });

  test("refuses a generation that stands under another number than it says", async () => {
    const bench = newPlace();
    const content = { ...contentOf(1), store: bench.place.store, job: JOB, createdAtMs: 1 };
    const key = bench.keys.generation(5);
    const body = { ...content, key, number: 4, writeId: UUID };
    await bench.backend.put(key, encodeGeneration(body));
    await rejectsWith(readNewestGeneration(bench.place), "catalog-lost");
    await bench.backend.put(key, encodeGeneration({ ...body, number: 5 }));
    assert.equal((await readNewestGeneration(bench.place))?.number, 5);
  });

  test("lists again when what it listed is gone by the time that it reads", async () => {
    const bench = newPlace();
    const catalog = await publish(bench, 1);
    const held = bench.backend.hold({ kind: "get", key: GENERATION });
    const reading = readNewestGeneration(bench.place);
    await held.reached;
    await catalog.publish(() => contentOf(1, { run: 2 }));
    await bench.backend.delete(bench.keys.generation(1));
    held.release();
    assert.equal((await reading)?.run, 2);
  });

  test("does not take a generation that can't be read now for one that is lost", async () => {
    const bench = newPlace();
    await publish(bench, 1);
    bench.backend.fail({ kind: "get", key: GENERATION });
    await rejectsWith(readNewestGeneration(bench.place), "storage-unavailable");
    bench.backend.fail({ kind: "list" });
    await rejectsWith(readNewestGeneration(bench.place), "storage-unavailable");
  });
});

describe("readAdopted", () => {
  test("reads what a generation names, and nothing else in its place", async () => {
    const { place, keys, backend } = newPlace();
    assert.equal(await readAdopted(place, null), undefined);
    const key = keys.adopted(3, UUID);
    const body = { key, store: place.store, job: keys.job, number: 3, files: [], writers: [] };
    const bytes = encodeAdopted(body);
    const hash = xxh64(bytes).toString(16).padStart(16, "0");
    const reference = { key, size: bytes.length, xxh64: hash };
    const missing = await rejectsWith(readAdopted(place, reference), "changes-lost");
    assert.deepEqual(missing.details, { key });
    await backend.put(key, bytes);
    assert.deepEqual(await readAdopted(place, reference), body);
    await backend.put(key, encodeAdopted({ ...body, number: 4 }));
    await rejectsWith(readAdopted(place, reference), "corrupt");
  });
});
