/**
 * Every storage call of every life goes wrong in every way that it can. The runtimes share the points: each takes
 * every third, Deno from the first, Bun from the second, Node from the third. `npm run soak -- fault_sweep` takes all.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { allPoints, type Point, runPoint, suitePoints } from "./_sweep.ts";
import { emptyCells, printed, tableOfKinds, tableOfSteps } from "./_sweep_table.ts";

const RUNTIMES = 3;
const POINTS_MIN = 5000;
const GROUPS = ["disk", "memory"];

function runtimeIndex(): number {
  if (process.versions.deno !== undefined) return 0;
  return process.versions.bun !== undefined ? 1 : 2;
}

async function dealtPoints(): Promise<Point[]> {
  return suitePoints(await allPoints()).filter((_, at) => at % RUNTIMES === runtimeIndex());
}

describe("fault sweep", () => {
  test("has points of every kind at every step", async () => {
    const points = suitePoints(await allPoints());
    console.log(`${points.length} points over ${RUNTIMES} runtimes`);
    console.log(printed(tableOfSteps(points)));
    console.log(printed(tableOfKinds(points)));
    assert.ok(points.length >= POINTS_MIN, `only ${points.length} points`);
    assert.deepEqual(emptyCells(tableOfSteps(points)), []);
  });

  for (const ground of GROUPS) {
    test(`whatever goes wrong on ${ground}, guarantees hold and nothing leaks`, async () => {
      const points = (await dealtPoints()).filter((point) => point.ground === ground);
      for (const point of points) await runPoint(point);
    });
  }
});
