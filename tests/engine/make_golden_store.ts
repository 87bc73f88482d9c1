/**
 * Makes the golden store where it is missing; one that is there never changes.
 *
 *   npx deno run -A tests/engine/make_golden_store.ts
 * @module
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { keysBelow } from "./_engine.ts";
import { GOLDEN_STORE, makeGoldenStore } from "./_golden_store.ts";

async function main(): Promise<void> {
  const folder = fileURLToPath(GOLDEN_STORE);
  if (existsSync(folder)) {
    console.log(`${folder} is there already`);
    return;
  }
  const objects = await makeGoldenStore();
  for (const key of await keysBelow(objects)) {
    await mkdir(dirname(`${folder}${key}`), { recursive: true });
    await writeFile(`${folder}${key}`, await objects.get(key));
    console.log(key);
  }
}

await main();
