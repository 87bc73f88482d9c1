/**
 * Deals out to the runtimes what takes long and is the same on each of them: an engine on a double of a disk.
 * The soaks take all, on any of them.
 * @module
 */
import process from "node:process";

/** Who takes what, by its place in a row of twelve: Bun is the fastest, and Node the slowest. */
const ROW = [
  ...["bun", "deno", "bun", "bun", "deno", "bun"],
  ...["bun", "node", "bun", "bun", "deno", "bun"],
];

function runtimeName(): string {
  if (process.versions.deno !== undefined) return "deno";
  return process.versions.bun !== undefined ? "bun" : "node";
}

/** The part of this runtime. */
export function dealtOut<Item>(items: readonly Item[]): Item[] {
  const name = runtimeName();
  return items.filter((_, at) => ROW[at % ROW.length] === name);
}
