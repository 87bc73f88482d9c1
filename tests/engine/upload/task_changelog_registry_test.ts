import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TaskChangelogRegistry } from "../../../src/engine/upload/task_changelog_registry.ts";

/** A registry, and what it has handed to its deleter, in order. */
function newRegistry(): { registry: TaskChangelogRegistry; discarded: string[] } {
  const discarded: string[] = [];
  const registry = new TaskChangelogRegistry({ discard: (keys) => void discarded.push(...keys) });
  return { registry, discarded };
}

describe("TaskChangelogRegistry", () => {
  test("hands a file over when its last change set is released, once", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 2);
    registry.release("f");
    assert.deepEqual(discarded, []);
    assert.deepEqual([...registry.trackedKeys], ["f"]);
    registry.release("f");
    assert.deepEqual(discarded, ["f"]);
    assert.equal(registry.trackedFiles, 0);
    registry.release("f");
    assert.deepEqual(discarded, ["f"]);
  });

  test("counts a file that grows batch by batch, and releases many at once", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 1);
    registry.startTracking("f", 2);
    registry.release("f", 2);
    assert.deepEqual(discarded, []);
    registry.release("f");
    assert.deepEqual(discarded, ["f"]);
  });

  test("never hands over what a published checkpoint owns, however often it is released", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 2);
    registry.stopTracking("f");
    assert.equal(registry.trackedFiles, 1);
    registry.release("f");
    registry.release("f");
    assert.deepEqual(discarded, []);
    assert.equal(registry.trackedFiles, 0);
  });

  test("goes on counting what is owned elsewhere, without noise for the other writers of a file", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 3);
    registry.stopTracking("f");
    registry.release("f");
    registry.stopTracking("f");
    assert.deepEqual([...registry.trackedKeys], ["f"]);
    registry.release("f");
    registry.stopTracking("f");
    assert.deepEqual([...registry.trackedKeys], ["f"]);
    registry.release("f");
    assert.deepEqual([...registry.trackedKeys], []);
    assert.deepEqual(discarded, []);
  });

  test("keeps a file that is still written to, though nothing needs it yet or any more", () => {
    const { registry, discarded } = newRegistry();
    const file = registry.begin("f");
    registry.startTracking("f", 1);
    registry.release("f");
    assert.deepEqual(discarded, []);
    registry.startTracking("f", 1);
    file.end();
    assert.deepEqual(discarded, []);
    registry.release("f");
    assert.deepEqual(discarded, ["f"]);
  });

  test("hands a file over that has ended with nothing in it", () => {
    const { registry, discarded } = newRegistry();
    registry.begin("f").end();
    assert.deepEqual(discarded, ["f"]);
  });

  test("knows whose a file is as long as it is written to", () => {
    const { registry, discarded } = newRegistry();
    const file = registry.begin("f");
    registry.startTracking("f", 1);
    registry.stopTracking("f");
    registry.release("f");
    registry.startTracking("f", 1);
    registry.release("f");
    file.end();
    assert.deepEqual(discarded, []);
    assert.equal(registry.trackedFiles, 0);
  });

  test("holds files for a checkpoint in progress, and lets them go once", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 1);
    registry.startTracking("g", 1);
    const letGo = registry.pin(["f", "g", "f", "unknown"]);
    const letGoOther = registry.pin(["g"]);
    registry.release("f");
    registry.release("g");
    assert.deepEqual(discarded, []);
    letGo();
    letGo();
    assert.deepEqual(discarded, ["f"]);
    letGoOther();
    assert.deepEqual(discarded, ["f", "g"]);
  });

  test("leaves to a published checkpoint what was held for it", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 1);
    const letGo = registry.pin(["f"]);
    registry.release("f");
    registry.stopTracking("f");
    letGo();
    assert.deepEqual(discarded, []);
    assert.equal(registry.trackedFiles, 0);
  });

  test("refuses counts that can't be, and changes nothing then", () => {
    const { registry, discarded } = newRegistry();
    registry.startTracking("f", 1);
    for (const references of [0, -1, 0.5, NaN]) {
      assert.throws(() => registry.startTracking("f", references), RangeError);
      assert.throws(() => registry.release("f", references), RangeError);
    }
    assert.throws(() => registry.release("f", 2), /Cannot release 2 change sets of f: 1 are/);
    assert.deepEqual(discarded, []);
    registry.release("f");
    assert.deepEqual(discarded, ["f"]);
  });

  test("takes a file that is not tracked for owned elsewhere", () => {
    const { registry, discarded } = newRegistry();
    registry.release("f");
    registry.stopTracking("f");
    registry.pin(["f"])();
    assert.deepEqual(discarded, []);
    assert.equal(registry.trackedFiles, 0);
  });
});
