/**
 * Every storage call of every life goes wrong in every way that it can. The runtimes share the points by
 * what one costs them: of every six in a row, Deno takes three, Bun the next two, Node the last.
 * `npm run soak -- fault_sweep` takes all, on any of them.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { allPoints, type Point, runPoint, suitePoints } from "./_sweep.ts";
import { emptyCells, printed, tableOfKinds, tableOfSteps } from "./_sweep_table.ts";

/** Who takes a point, by its place in a row of six. */
const DEAL = ["deno", "deno", "deno", "bun", "bun", "node"];
const POINTS_MIN = 5000;
const GROUPS = ["disk", "memory"];

function runtimeName(): string {
  if (process.versions.deno !== undefined) return "deno";
  return process.versions.bun !== undefined ? "bun" : "node";
}

async function dealtPoints(): Promise<Point[]> {
  return suitePoints(await allPoints()).filter((_, at) => DEAL[at % DEAL.length] === runtimeName());
}

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
      const points = (await dealtPoints()).filter((point) => point.ground === ground);
      for (const point of points) await runPoint(point);
    });
  }
});
