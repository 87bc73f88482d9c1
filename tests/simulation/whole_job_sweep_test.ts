/**
 * Storage calls of a deletion, and of an import, go wrong in every way that they can. Dealt out to the runtimes;
 * `npm run soak -- simulation/whole_job` takes all calls, on any of them.
 */
import { describe, test } from "node:test";
import { dealtOut } from "./_deal.ts";
import { FAULTS } from "./_ground.ts";
import { GROUNDS, pointsOf, runPoint, SCENARIOS } from "./_whole_job.ts";

/** Of each scenario on each ground, for each kind of fault; all runtimes together. */
const POINTS_MAX = 24;

/** Some of many, from the first to the last. */
function spread<Item>(items: readonly Item[]): Item[] {
  const step = Math.max(1, Math.ceil(items.length / POINTS_MAX));
  return items.filter((_, at) => at % step === 0 || at === items.length - 1);
}

describe("a whole job, of which a storage call goes wrong", () => {
  for (const [what, scenario] of Object.entries(SCENARIOS)) {
    for (const [name, make] of Object.entries(GROUNDS)) {
      for (const fault of FAULTS) {
        // Memory has nothing that a sync could lose.
        if (name === "memory" && fault === "sync lies") continue;
        test(`${fault}: ${what} on ${name}`, async () => {
          const points = spread(await pointsOf(scenario, make, fault));
          for (const point of dealtOut(points)) await runPoint(scenario, make, point);
        });
      }
    }
  }
});
