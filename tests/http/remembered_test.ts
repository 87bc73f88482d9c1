import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Remembered } from "../../src/http/_remembered.ts";

describe("Remembered", () => {
  test("makes a value once, and keeps none of what throws or makes none", () => {
    const lengths = new Remembered<{ length: number }>(2);
    const first = lengths.of("a", () => ({ length: 1 }));
    assert.equal(lengths.of("a", () => assert.fail("made again")), first);
    assert.throws(() => lengths.of("b", () => assert.fail("not allowed")), /not allowed/);
    assert.equal(lengths.of("c", () => undefined), undefined);
    assert.equal(lengths.size, 1);
  });

  test("holds no more than it may", () => {
    const remembered = new Remembered<{ text: string }>(3);
    for (let i = 0; i < 100; i++) {
      assert.equal(remembered.of(`${i}`, () => ({ text: `${i}` }))?.text, `${i}`);
      assert.ok(remembered.size <= 3);
    }
  });
});
