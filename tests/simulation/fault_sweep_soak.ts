/**
 * The whole fault sweep: `fault_sweep_soak.ts [EVERY] [FROM]`, every point unless told otherwise.
 * @module
 */
import process from "node:process";
import { allPoints, runPoint } from "./_sweep.ts";
import { printed, tableOfKinds, tableOfSteps } from "./_sweep_table.ts";

const [every = 1, from = 0] = process.argv.slice(2).map(Number);
if (!(every >= 1) || !(from >= 0)) {
  throw new RangeError("Cannot sweep: wants EVERY from 1, FROM from 0");
}
const points = (await allPoints()).filter((_, at) => at % every === from % every);
console.log(printed(tableOfSteps(points)));
console.log(printed(tableOfKinds(points)));
const failures: string[] = [];
for (const point of points) {
  await runPoint(point).catch((error: Error) => failures.push(error.message));
}
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${points.length} points, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;
