/**
 * Runs the soaks, the long random tests: every `*_soak.ts` below `tests`, one after another.
 * Each is a program that throws, or ends with another exit code than 0, when it finds a fault.
 *
 *   npm run soak                                   all, under Deno
 *   npm run soak -- wasm --runtime deno,bun,node   those whose path contains `wasm`, under each
 *   npm run soak -- wasm -- 1000 7                 with arguments for the soak, such as cases and seed
 * @module
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { filesBelow } from "./_files.mjs";
import { runMain } from "./_main.mjs";
import { environment } from "./_process.mjs";
import { chosenRuntimes } from "./_runtimes.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

function soaksMatching(part) {
  const soaks = filesBelow(ROOT, "tests", (path) => path.endsWith("_soak.ts"))
    .filter((path) => path.includes(part));
  if (soaks.length === 0) throw new RangeError(`Cannot soak: no tests/**/*_soak.ts has "${part}"`);
  for (const path of soaks) {
    if (/["']node:test["']/.test(readFileSync(join(ROOT, path), "utf8"))) {
      throw new Error(`Cannot soak ${path}: a soak is a program, but this one lists tests`);
    }
  }
  return soaks;
}

function runSoak(path, runtime, args) {
  console.log(`soak ${path} on ${runtime.title}`);
  const [program, ...first] = runtime.command;
  const { status } = spawnSync(program, [...first, path, ...args], {
    cwd: ROOT,
    env: environment(ROOT),
    stdio: "inherit",
  });
  return status === 0;
}

function main() {
  const all = process.argv.slice(2);
  const end = all.includes("--") ? all.indexOf("--") : all.length;
  const { values, positionals } = parseArgs({
    args: all.slice(0, end),
    allowPositionals: true,
    options: { runtime: { type: "string", default: "deno" } },
  });
  const failed = [];
  let passed = 0;
  for (const path of soaksMatching(positionals[0] ?? "")) {
    for (const runtime of chosenRuntimes(values.runtime)) {
      if (runSoak(path, runtime, all.slice(end + 1))) passed++;
      else failed.push(`${path} on ${runtime.title}`);
    }
  }
  for (const soak of failed) console.log(`failed: ${soak}`);
  console.log(`${passed} passed, ${failed.length} failed, 0 skipped`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

await runMain(main);
