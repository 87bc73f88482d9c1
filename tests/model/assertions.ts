/**
 * What the tests of all models assert.
 * @module
 */
import assert from "node:assert/strict";
import { explore, type Model } from "./explorer.ts";

const STATES_MAX = 400_000;

/** Explores to the end; nothing may be violated, and enough must have been seen. */
export function assertHolds<State>(model: Model<State>, statesMin: number): void {
  const { violation, trace, states, exhaustive } = explore(model, { statesMax: STATES_MAX });
  const found = violation === null ? "" : `${violation.invariant}: ${violation.detail}`;
  assert.equal(violation, null, `${found}, in ${trace.length} steps: ${trace.join("; ")}`);
  assert.ok(exhaustive, `not explored to the end: ${states} states`);
  assert.ok(states >= statesMin, `hollow: ${states} states, expected at least ${statesMin}`);
}

/** Explores until the fault is found, which must break the invariant of that name. */
export function assertFinds<State>(model: Model<State>, invariant: string): void {
  const { violation, trace, states } = explore(model, { statesMax: STATES_MAX });
  const told = `shortest trace ${trace.length} steps, ${states} states: ${trace.join("; ")}`;
  assert.equal(violation?.invariant, invariant, violation === null ? `no fault: ${told}` : told);
}

/** A setting in words: `{ appends: 2 }` is `appends 2`. */
export function describeBounds(bounds: object): string {
  return Object.entries(bounds).map(([what, count]) => `${what} ${count}`).join(", ");
}
