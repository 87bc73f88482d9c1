import assert from "node:assert/strict";
import { test } from "node:test";
import { runFuzz } from "./_fuzz.ts";

const CASES = 20_000;
const SEED = 20_261_130;
/** About a second, more on a busy machine. */
const timeout = 120_000;

test("Codec takes any block as the reference does, and stays inside", { timeout }, () => {
  const { byKind } = runFuzz({ cases: CASES, seed: SEED });
  for (const kind of ["valid", "flipped", "cut", "spliced", "crafted", "random"]) {
    assert.ok(byKind[kind].refused > 0, `some of ${kind} are refused, seed ${SEED}`);
  }
  for (const kind of ["valid", "flipped", "spliced", "crafted"]) {
    assert.ok(byKind[kind].accepted > 0, `some of ${kind} are accepted, seed ${SEED}`);
  }
  assert.ok(byKind.compress.accepted > CASES / 20, `many are compressed, seed ${SEED}`);
});
