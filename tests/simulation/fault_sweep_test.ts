/**
 * Every storage call of every life goes wrong in every way that it can, dealt out to the runtimes.
 * `npm run soak -- fault_sweep` takes all, on any of them.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dealtOut } from "./_deal.ts";
import { allPoints, runPoint, suitePoints } from "./_sweep.ts";
import { emptyCells, printed, tableOfKinds, tableOfSteps } from "./_sweep_table.ts";

const POINTS_MIN = 5000;
const GROUPS = ["disk", "memory"];

describe("fault sweep", () => {
  test("has points of every kind at every step", async () => {
    const points = suitePoints(await allPoints());
    console.log(`${points.length} points over the runtimes`);
    console.log(printed(tableOfSteps(points)));
    console.log(printed(tableOfKinds(points)));
    assert.ok(points.length >= POINTS_MIN, `only ${points.length} points`);
    assert.deepEqual(emptyCells(tableOfSteps(points)), []);
  });

  for (const ground of GROUPS) {
    test(`whatever goes wrong on ${ground}, guarantees hold and nothing leaks`, async () => {
      const points = dealtOut(suitePoints(await allPoints()));
      for (const point of points) if (point.ground === ground) await runPoint(point);
    });
  }
});
