import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { explore, hashOf, type Model, randomFrom, startingAfter, walk } from "./explorer.ts";

interface Pair {
  readonly left: number;
  readonly right: number;
}

/** Counts two numbers up to a limit each; it is broken where both are `badAt`. */
function countingModel(limit: number, badAt: number): Model<Pair> {
  return {
    initial: { left: 0, right: 0 },
    successors({ left, right }, emit) {
      if (left < limit) emit(() => `left ${left + 1}`, { left: left + 1, right });
      if (right < limit) emit(() => `right ${right + 1}`, { left, right: right + 1 });
    },
    check: ({ left, right }) =>
      left === badAt && right === badAt ? { invariant: "not both", detail: `${badAt}` } : null,
  };
}

describe("explore", () => {
  test("sees every state once and says that it is at the end", () => {
    const { violation, states, depth, exhaustive } = explore(countingModel(30, 99), {
      statesMax: 10_000,
    });
    assert.deepEqual({ violation, states, exhaustive }, {
      violation: null,
      states: 31 * 31,
      exhaustive: true,
    });
    assert.equal(depth, 61);
  });

  test("tells the shortest trace to a violation", () => {
    const { violation, trace } = explore(countingModel(30, 2), { statesMax: 10_000 });
    assert.equal(violation?.invariant, "not both");
    assert.equal(trace.length, 4);
    assert.equal(trace.filter((label) => label.startsWith("left")).length, 2);
  });

  test("says that it is not at the end when there are too many states", () => {
    const { exhaustive, violation } = explore(countingModel(30, 99), { statesMax: 100 });
    assert.equal(exhaustive, false);
    assert.equal(violation, null);
  });

  test("tells a violation that a step reports", () => {
    const model: Model<number> = {
      initial: 0,
      successors: (state, emit) =>
        emit(() => `to ${state + 1}`, state + 1, {
          invariant: "stays",
          detail: "it moved",
        }),
      check: () => null,
    };
    const { violation, trace } = explore(model, { statesMax: 10 });
    assert.deepEqual(violation, { invariant: "stays", detail: "it moved" });
    assert.deepEqual(trace, ["to 1"]);
  });
});

describe("startingAfter", () => {
  test("begins where the script leads", () => {
    const model = startingAfter(countingModel(30, 2), ["left", "right", "left"]);
    assert.deepEqual(model.initial, { left: 2, right: 1 });
    assert.equal(explore(model, { statesMax: 1_000 }).trace.length, 1);
  });

  test("says what was possible instead", () => {
    assert.throws(
      () => startingAfter(countingModel(1, 2), ["left", "left"]),
      /Cannot follow step 2, "left": found right 1/,
    );
  });
});

describe("walk", () => {
  test("goes the same way from the same seed", () => {
    const go = (seed: number) =>
      walk(countingModel(30, 99), randomFrom(seed), { stepsMax: 40, weigh: () => 1 }).trace;
    assert.deepEqual(go(7), go(7));
    assert.notDeepEqual(go(7), go(8));
    assert.equal(go(7).length, 40);
  });

  test("stops at a violation", () => {
    const weigh = (label: string) => label === "left 2" || label === "right 2" ? 1 : 0.9;
    const { violation, trace } = walk(countingModel(1, 1), randomFrom(3), { stepsMax: 9, weigh });
    assert.equal(violation?.invariant, "not both");
    assert.equal(trace.length, 2);
  });
});

describe("hashOf", () => {
  test("tells states apart by value, length, nesting and kind", () => {
    const states = [0, -1, 1, 16, "a", "b", null, true, false, [], [0], [0, 0], [[0], 0], [[0, 0]]];
    const hashes = states.map((state) => hashOf({ state }));
    assert.equal(new Set(hashes).size, states.length);
    assert.equal(hashOf({ a: [1, { b: 2 }] }), hashOf({ a: [1, { b: 2 }] }));
  });

  test("has no collision among small pairs", () => {
    const hashes = new Set<number>();
    for (let a = 0; a < 200; a++) for (let b = 0; b < 200; b++) hashes.add(hashOf([a, b]));
    assert.equal(hashes.size, 40_000);
  });
});
