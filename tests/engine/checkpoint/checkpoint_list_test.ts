import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findCheckpoint, listCheckpoints } from "../../../src/engine/checkpoint/checkpoint_list.ts";
import type { CatalogEntry, GenerationBody } from "../../../src/engine/format/generation.ts";
import { throwsWith } from "../_engine.ts";
import { contentOf, newPlace } from "./_place.ts";

function entryOf(uuid: string, parent: string | null): CatalogEntry {
  return {
    uuid,
    parent,
    fingerprint: 5n,
    identifier: null,
    steps: null,
    processedRecords: 9n,
    createdAtMs: 7,
    epoch: 2,
    run: 3,
    size: 11,
    manifest: { key: "m", size: 1, xxh64: "0000000000000000" },
    pin: null,
    quarantinedAtMs: null,
  };
}

/** a <- b <- c, b <- d <- e */
function generationOf(head: string | null): GenerationBody {
  const { place, keys } = newPlace();
  const checkpoints = [
    entryOf("a", null),
    entryOf("b", "a"),
    entryOf("c", "b"),
    entryOf("d", "b"),
    entryOf("e", "d"),
  ];
  return {
    ...contentOf(2, { head, checkpoints }),
    key: keys.generation(9),
    store: place.store,
    job: keys.job,
    number: 9,
    writeId: place.store,
    createdAtMs: 0,
  };
}

function abandonedAt(head: string | null): string[] {
  return listCheckpoints(generationOf(head))
    .filter(({ isAbandoned }) => isAbandoned).map(({ uuid }) => uuid);
}

describe("listCheckpoints", () => {
  test("lists the oldest first, and leaves out what is not known", () => {
    const list = listCheckpoints(generationOf("b"));
    assert.deepEqual(list.map(({ uuid }) => uuid), ["a", "b", "c", "d", "e"]);
    const { identifier, steps, processedRecords, parent, isHead } = list[0];
    assert.deepEqual([identifier, steps, processedRecords, parent, isHead], [
      undefined,
      undefined,
      9n,
      undefined,
      false,
    ]);
    assert.deepEqual(list.filter(({ isHead }) => isHead).map(({ uuid }) => uuid), ["b"]);
  });

  test("takes for abandoned what is not an ancestor of head", () => {
    assert.deepEqual(abandonedAt("e"), ["c"]);
    assert.deepEqual(abandonedAt("c"), ["d", "e"]);
    assert.deepEqual(abandonedAt("b"), ["c", "d", "e"]);
    assert.deepEqual(abandonedAt(null), ["a", "b", "c", "d", "e"]);
  });
});

describe("findCheckpoint", () => {
  test("takes head for the latest, and any other by its uuid", () => {
    assert.equal(findCheckpoint(generationOf("b"), "latest").uuid, "b");
    assert.equal(findCheckpoint(generationOf("b"), "e").uuid, "e");
  });

  test("says so when there is none", () => {
    const latest = throwsWith(
      () => findCheckpoint(generationOf(null), "latest"),
      "checkpoint-not-found",
    );
    assert.match(latest.message, /orders/);
    const other = throwsWith(() => findCheckpoint(generationOf("b"), "z"), "checkpoint-not-found");
    assert.deepEqual(other.details, { job: "orders", at: "z" });
  });
});
