/**
 * The kill test for longer: sidecars of the runtime that runs this program, 50 kills a store. The arguments are how
 * often to kill and a seed; each store has the seed after that of the one before.
 *
 *     npm run soak -- crash/kill --runtime deno,bun,node -- 1000 7
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import { withTemporaryFolder } from "./_folder.ts";
import { checkReport, describeReport } from "./_kill_report.ts";
import { runKills } from "./_kill_run.ts";
import { CLI, prepare, THIS_RUNTIME } from "./_process.ts";

const KILLS_DEFAULT = 500;
const KILLS_PER_STORE = 50;
const SEED_COUNT = 2 ** 31;

const [kills = KILLS_DEFAULT, firstSeed = Math.floor(Math.random() * SEED_COUNT)] = process.argv
  .slice(2)
  .map(Number);
const stores = Math.ceil(kills / KILLS_PER_STORE);
for (let index = 0; index < stores; index++) {
  const seed = firstSeed + index;
  console.log(`store ${index + 1} of ${stores}: sidecars on ${THIS_RUNTIME}, seed ${seed}`);
  await withTemporaryFolder(async (folder) => {
    const store = join(folder, "store");
    const cli = await prepare(THIS_RUNTIME, CLI, folder);
    const report = await runKills({ cli, store, seed, kills: KILLS_PER_STORE });
    console.log(describeReport(report));
    checkReport(report, KILLS_PER_STORE);
  });
}
