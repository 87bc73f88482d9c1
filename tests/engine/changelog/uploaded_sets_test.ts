import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UploadedSets } from "../../../src/engine/changelog/_uploaded_sets.ts";
import type { UploadResult } from "../../../src/engine/upload/upload_task.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";

function result(sequenceNumber: number, key = "a", localKey?: string): UploadResult {
  const plain = { sequenceNumber, key, batch: sequenceNumber % 3, byteLength: 10 + sequenceNumber };
  return localKey === undefined ? plain : { ...plain, localKey };
}

/** Segments of writer `w`, as they were told. */
function between(sets: UploadedSets, from: number, to: number): UploadResult[] {
  return sets.between(from, to, "w").map(({ writer, ...one }) => {
    assert.equal(writer, "w");
    return one;
  });
}

function setsOf(...results: UploadResult[]): UploadedSets {
  const sets = new UploadedSets();
  for (const one of results) sets.add(one);
  return sets;
}

describe("UploadedSets", () => {
  test("gives back what it was told, from one number to another", () => {
    const results = [result(3), result(4), result(5, "b"), result(6, "b", "local")];
    const sets = setsOf(...results);
    assert.deepEqual(between(sets, 0, 10), results);
    assert.deepEqual(between(sets, 4, 6), results.slice(1, 3));
    assert.deepEqual(between(sets, 7, 10), []);
  });

  test("is in order of the numbers, whatever the order of arrival", () => {
    const sets = setsOf(result(1), result(4), result(2, "b"), result(3, "b"));
    assert.deepEqual(between(sets, 0, 5).map(({ sequenceNumber }) => sequenceNumber), [1, 2, 3, 4]);
  });

  test("gives out what lies below a number once, by file", () => {
    const sets = setsOf(result(0), result(1), result(2, "b"), result(3, "b"), result(4, "b"));
    assert.deepEqual(sets.takeBelow(4), [
      { key: "a", first: 0, count: 2 },
      { key: "b", first: 2, count: 2 },
    ]);
    assert.deepEqual(sets.takeBelow(4), []);
    assert.deepEqual(between(sets, 0, 10), [result(4, "b")]);
    sets.add(result(5, "b"));
    assert.deepEqual(sets.takeBelow(Infinity), [{ key: "b", first: 4, count: 2 }]);
  });

  for (const seed of [1, 2, 3]) {
    test(`does what a map does (seed ${seed})`, () => {
      const random = new SeededRandom(seed);
      const sets = new UploadedSets();
      const map = new Map<number, UploadResult>();
      let next = 0;
      for (let step = 0; step < 300; step++) {
        const numbers = Array.from({ length: random.below(5) }, () => next++);
        if (random.chance(0.2)) numbers.reverse();
        const key = `file-${Math.floor(next / 50)}`;
        for (const number of numbers) {
          const one = result(number, key, random.chance(0.1) ? "local" : undefined);
          sets.add(one);
          map.set(number, one);
        }
        if (random.chance(0.1)) {
          const to = Math.max(0, next - random.below(20));
          const wanted = [...map.values()].filter(({ sequenceNumber }) => sequenceNumber < to);
          const counts: Record<string, number> = {};
          for (const { key, count } of sets.takeBelow(to)) counts[key] = (counts[key] ?? 0) + count;
          const wantedCounts: Record<string, number> = {};
          for (const one of wanted) {
            wantedCounts[one.key] = (wantedCounts[one.key] ?? 0) + 1;
            map.delete(one.sequenceNumber);
          }
          assert.deepEqual(counts, wantedCounts);
        }
        const from = random.below(next + 1);
        const to = from + random.below(30);
        const wanted = [...map.values()]
          .filter(({ sequenceNumber }) => sequenceNumber >= from && sequenceNumber < to)
          .sort((a, b) => a.sequenceNumber - b.sequenceNumber);
        assert.deepEqual(between(sets, from, to), wanted);
      }
    });
  }
});
