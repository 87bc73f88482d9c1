import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AppendHistory } from "../../../src/engine/changelog/append_history.ts";
import { changesOf } from "../_engine.ts";

describe("AppendHistory", () => {
  test("knows an append again", () => {
    const history = new AppendHistory();
    history.add(5, changesOf("a", "b"));
    assert.equal(history.compare(5, changesOf("a", "b")), true);
  });

  test("tells other bytes in the same place", () => {
    const history = new AppendHistory();
    history.add(5, changesOf("a", "b"));
    assert.equal(history.compare(5, changesOf("a", "c")), false);
  });

  test("does not know what was cut otherwise, or was never appended", () => {
    const history = new AppendHistory();
    history.add(5, changesOf("a", "b"));
    assert.equal(history.compare(5, changesOf("a")), undefined);
    assert.equal(history.compare(6, changesOf("b")), undefined);
  });

  test("knows an append that begins where an empty one stood", () => {
    const history = new AppendHistory();
    history.add(5, changesOf());
    history.add(5, changesOf("a"));
    assert.equal(history.compare(5, changesOf("a")), true);
  });

  test("does not remember what is large: that is read back", () => {
    const history = new AppendHistory();
    const [small, large] = [changesOf("a".repeat(256_000)), changesOf("a".repeat(263_000))];
    history.add(0, small);
    history.add(1, large);
    assert.equal(history.compare(0, small), true);
    assert.equal(history.compare(1, large), undefined);
  });

  test("forgets the oldest of more than 256 appends", () => {
    const history = new AppendHistory();
    for (let offset = 0; offset <= 256; offset++) history.add(offset, changesOf(`${offset}`));
    assert.equal(history.compare(0, changesOf("0")), undefined);
    assert.equal(history.compare(1, changesOf("1")), true);
    assert.equal(history.compare(256, changesOf("256")), true);
  });
});
