import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LocalChangelogRegistry } from "../../../src/engine/upload/local_changelog_registry.ts";

/** A registry, and what it has handed to its deleter, in order. */
function newRegistry(): { registry: LocalChangelogRegistry; discarded: string[] } {
  const discarded: string[] = [];
  const registry = new LocalChangelogRegistry({ discard: (keys) => void discarded.push(...keys) });
  return { registry, discarded };
}

describe("LocalChangelogRegistry", () => {
  test("deletes copies that only earlier checkpoints use", () => {
    const { registry, discarded } = newRegistry();
    for (const key of ["1", "2"]) registry.register(key, 1);
    for (const key of ["2", "3"]) registry.register(key, 2);
    registry.discardUpToCheckpoint(2);
    assert.deepEqual(discarded, ["1"]);
    registry.discardUpToCheckpoint(3);
    assert.deepEqual(discarded, ["1", "2", "3"]);
  });

  test("keeps the last checkpoint that uses a copy, whatever the order", () => {
    const { registry, discarded } = newRegistry();
    registry.register("a", 3);
    registry.register("a", 1);
    registry.discardUpToCheckpoint(3);
    assert.deepEqual(discarded, []);
    registry.discardUpToCheckpoint(4);
    assert.deepEqual(discarded, ["a"]);
  });

  test("deletes a copy that nobody will need, once, and none that it does not know", () => {
    const { registry, discarded } = newRegistry();
    registry.register("a", 1);
    registry.discard("a");
    registry.discard("a");
    registry.discard("b");
    registry.discardUpToCheckpoint(9);
    assert.deepEqual(discarded, ["a"]);
    assert.equal(registry.has("a"), false);
  });

  test("keeps those alone that a job goes on with", () => {
    const { registry, discarded } = newRegistry();
    for (const key of ["a", "b", "c"]) registry.register(key, 1);
    registry.retain(new Set(["b", "z"]));
    assert.deepEqual(discarded, ["a", "c"]);
    assert.ok(registry.has("b"));
  });

  test("deletes nothing when it is closed", () => {
    const { registry, discarded } = newRegistry();
    registry.register("a", 1);
    registry.close();
    registry.close();
    registry.discardUpToCheckpoint(2);
    assert.deepEqual(discarded, []);
  });
});
