/**
 * Runs benches, each in a fresh process under each runtime in turn, and prints their tables.
 *
 *   npm run bench                                list the benches
 *   npm run bench -- codec format                run them
 *   npm run bench -- codec --runtime deno,bun    on some runtimes
 *   npm run bench -- codec --check               say met or missed for each bar; exit 1 on a missed one
 *   npm run bench -- codec --runs 3              the median of so many runs, an odd number
 *   npm run bench -- codec --write               also put the table into README.md
 *   npm run bench -- codec --smoke               tiny sizes, to see that it runs
 * @module
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runMain } from "../../tools/_main.mjs";
import { chosenRuntimes, type Runtime, RUNTIMES } from "../../tools/_runtimes.mjs";
import { type BenchResult, formatResult } from "./_bench.ts";
import { barsTable, medianResult, replaceMarked, type RuntimeResult } from "./_report.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
interface Flags {
  readonly check: boolean;
  readonly smoke: boolean;
}

function benchNames(): string[] {
  return readdirSync(HERE)
    .filter((file) => /^[^_].*\.ts$/.test(file) && !/^main\.ts$|_(?:test|soak)\.ts$/.test(file))
    .map((file) => file.replace(/\.ts$/, ""));
}

function chosenBenches(asked: readonly string[]): readonly string[] {
  const names = benchNames();
  for (const name of asked) {
    if (!names.includes(name)) {
      throw new RangeError(`Cannot run bench ${name}: there are ${names.join(", ")}`);
    }
  }
  return asked;
}

/** Runs a command from the installed packages to its end; its output goes to the terminal. */
function runInstalled(command: readonly string[]): void {
  const path = `${join(ROOT, "node_modules", ".bin")}:${process.env.PATH}`;
  const { status, signal, error } = spawnSync(command[0], command.slice(1), {
    cwd: ROOT,
    env: { ...process.env, PATH: path },
    stdio: "inherit",
  });
  if (error !== undefined) throw error;
  if (status !== 0) {
    throw new Error(
      `Cannot run ${command.join(" ")}: ended with ${signal ?? `exit code ${status}`}`,
    );
  }
}

function runBench(name: string, runtime: Runtime, flags: Flags, folder: string): BenchResult {
  const { title, command } = runtime;
  const file = join(folder, `${name}_${title}.json`);
  const passed = Object.entries(flags).filter(([, isSet]) => isSet).map(([flag]) => flag);
  runInstalled([...command, join(HERE, "_child.ts"), name, file, ...passed]);
  const result: BenchResult = JSON.parse(readFileSync(file, "utf8"));
  console.log(`\n${formatResult({ ...result, title: `${result.title} (${title})` })}`);
  return result;
}

/** Runs a bench so many times, all runtimes in turn, and takes the median of each. */
function runAll(
  name: string,
  runtimes: readonly Runtime[],
  options: { readonly flags: Flags; readonly runs: number; readonly folder: string },
): RuntimeResult[] {
  const { flags, runs, folder } = options;
  const results = Array.from(
    { length: runs },
    () => runtimes.map((runtime) => runBench(name, runtime, flags, folder)),
  );
  return runtimes.map(({ title }, i) => (
    { runtime: title, result: medianResult(results.map((run) => run[i])) }
  ));
}

function machine(): string {
  const all = cpus();
  return `${all[0].model.trim()}, ${all.length} cores`;
}

function writeToReadme(name: string, results: readonly RuntimeResult[], runs: number): void {
  const path = join(ROOT, "README.md");
  const content = `${barsTable(results)}\n\n${
    runs === 1 ? "Measured" : `Median of ${runs} runs`
  } by \`npm run bench -- ${name}${
    runs === 1 ? "" : ` --runs ${runs}`
  } --write\` on: ${machine()}.`;
  writeFileSync(path, replaceMarked(readFileSync(path, "utf8"), name, content));
  runInstalled(["deno", "fmt", "--quiet", path]);
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      check: { type: "boolean", default: false },
      smoke: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      runs: { type: "string", default: "1" },
      runtime: { type: "string", default: [...RUNTIMES.keys()].join(",") },
    },
  });
  if (positionals.length === 0) {
    console.log(`npm run bench -- NAME…: ${benchNames().join(", ")}`);
    return;
  }
  const names = chosenBenches(positionals);
  const runtimes = chosenRuntimes(values.runtime);
  const flags = { check: values.check, smoke: values.smoke };
  const runs = Number(values.runs);
  if (!(runs % 2 === 1)) throw new RangeError(`Cannot take the median of ${values.runs} runs`);
  const folder = mkdtempSync(join(tmpdir(), "tidemark-bench-"));
  const missed: string[] = [];
  try {
    for (const name of names) {
      const results = runAll(name, runtimes, { flags, runs, folder });
      console.log(`\n${barsTable(results)}`);
      for (const { runtime, result } of results) {
        const bars = result.bars.filter((bar) => !bar.met);
        missed.push(...bars.map((bar) => `${name} on ${runtime}: ${bar.name}`));
      }
      if (values.write) writeToReadme(name, results, runs);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (!values.check) return;
  for (const bar of missed) console.log(`missed: ${bar}`);
  console.log(missed.length === 0 ? "All bars met" : `${missed.length} bars missed`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}

await runMain(main);
