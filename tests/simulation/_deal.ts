/**
 * Deals out to the runtimes what takes long and is the same on each of them: an engine on a double of a disk.
 * The soaks take all, on any of them.
 * @module
 */
import process from "node:process";

/** Who takes what, by its place in a row of twelve: on two cores Node's suite runs beside those of the two others. */
const ROW = [
  ...["bun", "node", "bun", "node", "deno", "bun"],
  ...["node", "bun", "node", "bun", "deno", "node"],
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
