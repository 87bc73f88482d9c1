/**
 * Runs one bench in this process and writes its result as JSON to a file: `_child.ts NAME FILE [check] [smoke]`.
 * @module
 */
import { writeFileSync } from "node:fs";
import process from "node:process";
import type { Bench } from "./_bench.ts";

const [name, file, ...flags] = process.argv.slice(2);
const { run } = await import(`./${name}.ts`) as { run: Bench };
const result = await run({ check: flags.includes("check"), smoke: flags.includes("smoke") });
writeFileSync(file, JSON.stringify(result));
