import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Catalog } from "../../../src/engine/checkpoint/catalog.ts";
import {
  listGenerations,
  readNewestGeneration,
} from "../../../src/engine/checkpoint/catalog_read.ts";
import { TidemarkError } from "../../../src/engine/errors.ts";
import { GENERATION, rejectsWith, textOf } from "../_engine.ts";
import { contentOf, newPlace, type PlaceBench } from "./_place.ts";

function catalogOf({ place, ports }: PlaceBench): Catalog {
  return new Catalog(place, ports, undefined);
}

/** Publishes a generation whose run tells it from others. */
function publish(catalog: Catalog, run: number): Promise<unknown> {
  return catalog.publish((newest) => contentOf(newest?.epoch ?? 1, { run }));
}

const PUT = { kind: "putIfAbsent", key: GENERATION } as const;
/** The request was sent, nothing came of it as yet, and the answer is lost. */
const LOST = {
  ...PUT,
  error: new TidemarkError("storage-unavailable", "x", { outcome: "unknown" }),
};

describe("Catalog", () => {
  test("publishes one generation after another, each whole", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    await publish(catalog, 1);
    const second = await catalog.publish((newest) => ({ ...newest!, run: 2, reason: "resume" }));
    assert.deepEqual([second.number, second.run, second.reason], [2, 2, "resume"]);
    assert.deepEqual(await readNewestGeneration(bench.place), second);
    assert.deepEqual(catalog.newest, second);
    assert.equal(second.key, bench.keys.generation(2));
    assert.deepEqual(await listGenerations(bench.place), [1, 2]);
  });

  test("goes on from what is there", async () => {
    const bench = newPlace();
    await publish(catalogOf(bench), 1);
    const found = await readNewestGeneration(bench.place);
    const catalog = new Catalog(bench.place, bench.ports, found);
    assert.equal((await catalog.publish((newest) => newest!)).number, 2);
  });

  test("keeps the newest 16 generations", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    for (let i = 1; i <= 20; i++) await publish(catalog, i);
    const numbers = await listGenerations(bench.place);
    assert.deepEqual(numbers, Array.from({ length: 16 }, (_, i) => i + 5));
  });

  test("leaves old generations that it can't delete for the next time, and says so", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    for (let i = 1; i <= 16; i++) await publish(catalog, i);
    bench.backend.fail({ kind: "delete" });
    await publish(catalog, 17);
    assert.equal((await listGenerations(bench.place)).length, 17);
    assert.equal(bench.ports.logger.messages("warning").length, 1);
    await publish(catalog, 18);
    assert.equal((await listGenerations(bench.place)).length, 16);
  });
});

describe("Catalog when a publish goes wrong", () => {
  test("says that nothing was applied when nothing was", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    bench.backend.fail(PUT);
    const error = await rejectsWith(publish(catalog, 1), "storage-unavailable");
    assert.equal(error.outcome, "not-applied");
    assert.equal(catalog.newest, undefined);
    await publish(catalog, 1);
    assert.deepEqual(await listGenerations(bench.place), [1]);
  });

  test("reads back whose it is, and puts the same content under the next number", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    bench.backend.fail({ ...PUT, when: "after" });
    await publish(catalog, 7);
    // The name of the first may not be on disk.
    assert.deepEqual(await listGenerations(bench.place), [1, 2]);
    const newest = await readNewestGeneration(bench.place);
    assert.deepEqual([newest?.number, newest?.run], [2, 7]);
    assert.deepEqual(catalog.newest, newest);
  });

  test("repeats the same body at the same number while it is absent", async () => {
    const bench = newPlace();
    const { backend } = bench.place;
    const catalog = catalogOf(bench);
    backend.fail({ ...LOST, times: 2 });
    const bodies: string[] = [];
    const put = backend.putIfAbsent.bind(backend);
    backend.putIfAbsent = (key, bytes, options) => {
      bodies.push(key + textOf(bytes));
      return put(key, bytes, options);
    };
    await publish(catalog, 7);
    assert.equal(new Set(bodies.slice(0, 3)).size, 1, "another body was put");
    assert.equal((await readNewestGeneration(bench.place))?.run, 7);
  });

  test("says that the outcome is unknown, and publishes nothing else before it is known", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    await publish(catalog, 1);
    bench.backend.fail({ ...LOST, times: 6 });
    const error = await rejectsWith(publish(catalog, 2), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    assert.equal(error.details.key, bench.keys.generation(2));
    const puts = bench.backend.keysOf("putIfAbsent").length;
    const again = await rejectsWith(publish(catalog, 3), "storage-unavailable");
    assert.equal(again.outcome, "not-applied", "nothing of the second was sent");
    const keys = new Set(bench.backend.keysOf("putIfAbsent").slice(puts));
    assert.deepEqual([...keys], [bench.keys.generation(2)]);
    bench.backend.mend();
    const runs: number[] = [];
    await catalog.publish((newest) => {
      runs.push(newest!.run);
      return { ...newest!, run: 3 };
    });
    assert.deepEqual(runs, [2], "what was undecided comes first, then what is new, on top of it");
    assert.equal((await readNewestGeneration(bench.place))?.run, 3);
  });

  test("does not say that nothing was applied when only the repetition was not", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    bench.backend.fail(LOST);
    bench.backend.fail({ ...PUT, times: 2 });
    const error = await rejectsWith(publish(catalog, 1), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    const keys: string[] = [];
    await catalog.publish((newest) => {
      keys.push(newest!.key);
      return contentOf(1, { run: 2 });
    });
    assert.deepEqual(keys, [bench.keys.generation(1)]);
  });

  test("says that the outcome is unknown when it can't even read back", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    await publish(catalog, 1);
    bench.backend.fail({ ...PUT, when: "after" });
    bench.backend.fail({ kind: "get", key: GENERATION, times: 3 });
    const error = await rejectsWith(publish(catalog, 2), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    bench.backend.mend();
    const seen: (number | undefined)[] = [];
    await catalog.publish((newest) => {
      seen.push(newest?.run);
      return contentOf(1, { run: 3 });
    });
    assert.deepEqual(seen, [2]);
    assert.equal((await readNewestGeneration(bench.place))?.run, 3);
  });

  test("says unknown when the name of no repetition need be on disk, and goes on", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    await publish(catalog, 1);
    bench.backend.fail({ ...PUT, when: "after", times: 3 });
    const error = await rejectsWith(publish(catalog, 2), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    await publish(catalog, 3);
    assert.equal((await readNewestGeneration(bench.place))?.run, 3);
  });

  test("says unknown when a generation of its own is there, and the next one fails for good", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    await publish(catalog, 1);
    bench.backend.fail({ ...PUT, when: "after" });
    bench.backend.fail(PUT);
    const error = await rejectsWith(publish(catalog, 2), "storage-unavailable");
    assert.equal(error.outcome, "unknown");
    assert.equal((error.cause as TidemarkError).outcome, "not-applied");
    assert.equal(catalog.newest?.run, 2);
    await publish(catalog, 3);
    assert.deepEqual(await listGenerations(bench.place), [1, 2, 3]);
  });

  test("knows its own generation again when it lands late", async () => {
    const bench = newPlace();
    const { backend } = bench.place;
    const catalog = catalogOf(bench);
    const get = backend.get.bind(backend);
    let reads = 0;
    backend.get = (key, options) => {
      if (reads++ > 0) return get(key, options);
      return Promise.reject(new TidemarkError("object-not-found", "it has not landed yet"));
    };
    backend.fail({ ...PUT, when: "after" });
    await publish(catalog, 1);
    assert.equal((await readNewestGeneration(bench.place))?.run, 1);
    assert.deepEqual(catalog.newest, await readNewestGeneration(bench.place));
  });
});

describe("Catalog beside another", () => {
  test("publishes on top of what another of its own epoch published meanwhile", async () => {
    const bench = newPlace();
    const [one, other] = [catalogOf(bench), catalogOf(bench)];
    await publish(one, 5);
    const seen: (number | undefined)[] = [];
    await other.publish((newest) => {
      seen.push(newest?.run);
      return contentOf(1, { run: 6 });
    });
    assert.deepEqual(seen, [undefined, 5]);
    assert.deepEqual(await listGenerations(bench.place), [1, 2]);
  });

  test("is fenced by a generation of a higher epoch, and has published nothing", async () => {
    const bench = newPlace();
    const [old, young] = [catalogOf(bench), catalogOf(bench)];
    await publish(old, 1);
    const own = old.newest!;
    await young.publish(() => contentOf(2));
    const error = await rejectsWith(
      old.publish(() => ({ ...own, run: 9 })),
      "fenced",
    );
    assert.equal(error.outcome, "not-applied");
    assert.deepEqual([error.details.epoch, error.details.newestEpoch], [1, 2]);
    assert.equal((await readNewestGeneration(bench.place))?.epoch, 2);
  });

  test("does not take for the newest what it published when the job has another owner by then", async () => {
    const bench = newPlace();
    const catalog = catalogOf(bench);
    await publish(catalog, 1);
    const { newest } = catalog;
    const fenced = new TidemarkError("fenced", "made by a test", { outcome: "unknown" });
    catalog.publishAs({
      check: () => {
        throw fenced;
      },
    });
    await rejectsWith(publish(catalog, 2), "fenced");
    assert.equal(catalog.newest, newest);
  });

  test("does not take another's body for its own when its own answer is lost", async () => {
    const bench = newPlace();
    const [old, young] = [catalogOf(bench), catalogOf(bench)];
    await young.publish(() => contentOf(2));
    bench.backend.fail(LOST);
    await rejectsWith(old.publish(() => contentOf(1)), "fenced");
  });
});
