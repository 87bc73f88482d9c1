/**
 * The kill test for longer: sidecars of every runtime in turn, each on new stores, 50 kills a store.
 *
 *     npm run soak -- crash/kill [--kills 1000] [--runtime deno|bun|node] [--seed N]
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { withTemporaryFolder } from "./_folder.ts";
import { checkReport, describeReport } from "./_kill_report.ts";
import { runKills } from "./_kill_run.ts";
import { CLI, prepare, RUNTIMES } from "./_process.ts";

const KILLS_PER_STORE = 50;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "1000" },
    runtime: { type: "string" },
    seed: { type: "string", default: `${Date.now() % 2 ** 31}` },
  },
});
const runtimes = RUNTIMES.filter((runtime) => (values.runtime ?? runtime) === runtime);
if (runtimes.length === 0) {
  throw new RangeError(
    `Cannot soak on "${values.runtime}": the runtimes are ${RUNTIMES.join(", ")}`,
  );
}

const firstSeed = Number(values.seed);
const stores = Math.ceil(Number(values.kills) / KILLS_PER_STORE);
for (let index = 0; index < stores; index++) {
  for (const runtime of runtimes) {
    const seed = firstSeed + index;
    console.log(`sidecar on ${runtime}, seed ${seed}, store ${index + 1} of ${stores}`);
    await withTemporaryFolder(async (folder) => {
      const store = join(folder, "store");
      const cli = await prepare(runtime, CLI, folder);
      const report = await runKills({ cli, store, seed, kills: KILLS_PER_STORE });
      console.log(describeReport(report));
      checkReport(report, KILLS_PER_STORE);
    });
  }
}
process.exitCode = 0;
