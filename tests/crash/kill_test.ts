/** Kills sidecars of the runtime that runs this test: nothing that was acknowledged is lost. @module */
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "./_folder.ts";
import { checkReport, describeReport } from "./_kill_report.ts";
import { runKills } from "./_kill_run.ts";
import { CLI, prepare, THIS_RUNTIME, TIMEOUT_MS } from "./_process.ts";

const KILLS = 50;
const SEED_COUNT = 2 ** 31;

test(`a sidecar on ${THIS_RUNTIME}, killed again and again, loses nothing acknowledged`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const seed = Math.floor(Math.random() * SEED_COUNT);
  await withTemporaryFolder(async (folder) => {
    const store = join(folder, "store");
    try {
      const cli = await prepare(THIS_RUNTIME, CLI, folder);
      const report = await runKills({ cli, store, seed, kills: KILLS });
      console.log(`sidecar on ${THIS_RUNTIME}, seed ${seed}\n${describeReport(report)}`);
      checkReport(report, KILLS);
    } catch (error) {
      const message = error instanceof Error ? error.message : error;
      throw new Error(`seed ${seed}: ${message}`, { cause: error });
    }
  });
});
