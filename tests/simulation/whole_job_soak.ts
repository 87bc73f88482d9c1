/** Every storage call of a deletion and of an import goes wrong, in every way, on one runtime. @module */
import process from "node:process";
import { FAULTS } from "./_ground.ts";
import { GROUNDS, pointsOf, runPoint, SCENARIOS } from "./_whole_job.ts";

const failures: string[] = [];
for (const [what, scenario] of Object.entries(SCENARIOS)) {
  for (const [name, make] of Object.entries(GROUNDS)) {
    for (const fault of FAULTS) {
      const points = await pointsOf(scenario, make, fault);
      for (const point of points) {
        await runPoint(scenario, make, point).catch((error: Error) =>
          failures.push(`${what} on ${name}: ${error.message}`)
        );
      }
      console.log(`${what} on ${name}: ${points.length} times ${fault}`);
    }
  }
}
for (const failure of failures) console.log(`failed: ${failure}`);
if (failures.length > 0) process.exitCode = 1;
