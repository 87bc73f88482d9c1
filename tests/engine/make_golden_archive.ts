/**
 * Makes the golden archive where it is missing; one that is there never changes.
 *
 *   npx deno run -A tests/engine/make_golden_archive.ts
 * @module
 */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gather, GOLDEN_ARCHIVE, openRichJob } from "./_archive.ts";
import { appendDurably, JOB, openEngine } from "./_engine.ts";

async function main(): Promise<void> {
  const path = fileURLToPath(GOLDEN_ARCHIVE);
  if (existsSync(path)) {
    console.log(`${path} is there already`);
    return;
  }
  const { store: first } = await openRichJob();
  // Moved once: some of its files are another job's by their headers, some its own.
  const { store } = await openEngine();
  await store.importJob("moved", first.exportJob(JOB));
  await appendDurably(await store.job("moved"), "totals", "after the move");
  await writeFile(path, await gather(store.exportJob("moved")));
  console.log(path);
}

await main();
