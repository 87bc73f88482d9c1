/**
 * Runs every `*_soak.ts` below `tests` (or those whose path contains the argument), one after another, under Deno.
 * Each is a program that throws, or ends with another exit code than 0, when it finds a fault.
 * @module
 */
import { spawnSync } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { filesBelow } from "./_files.mjs";
import { environment } from "./_process.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const filter = process.argv[2] ?? "";
const soaks = filesBelow(
  ROOT,
  "tests",
  (path) => path.endsWith("_soak.ts") && path.includes(filter),
);
if (soaks.length === 0) {
  throw new RangeError(`Cannot soak: no tests/**/*_soak.ts contains "${filter}"`);
}

const failed = soaks.filter((path) => {
  console.log(`soak ${path}`);
  const command = ["run", "-A", path, ...process.argv.slice(3)];
  const { status } = spawnSync("deno", command, {
    cwd: ROOT,
    env: environment(ROOT),
    stdio: "inherit",
  });
  return status !== 0;
});
console.log(`${soaks.length - failed.length} passed, ${failed.length} failed, 0 skipped`);
for (const path of failed) console.log(`failed: ${path}`);
process.exitCode = failed.length === 0 ? 0 : 1;
