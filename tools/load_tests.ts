/**
 * Loads every test file in Deno, without running its tests, and fails if one throws as it loads.
 * `deno test` does not: what a module throws after its first `test(…)` is lost there, with all tests that would follow.
 * @module
 */
import process from "node:process";
import { pathToFileURL } from "node:url";

let failed = 0;
for (const file of process.argv.slice(2)) {
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    failed++;
    console.error(`Cannot load ${file}:`, error);
  }
}
process.exit(failed === 0 ? 0 : 1);
