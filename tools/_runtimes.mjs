/**
 * How each runtime runs a TypeScript program of this repository.
 * @module
 */

/** @typedef {{ title: string, command: string[] }} Runtime */

/** @type {Map<string, Runtime>} */
export const RUNTIMES = new Map([
  ["deno", { title: "Deno", command: ["deno", "run", "-A"] }],
  ["bun", { title: "Bun", command: ["bun", "run"] }],
  ["node", { title: "Node", command: [process.execPath, "--import", "tsx"] }],
]);

/**
 * Picks runtimes by a list such as `deno,bun`.
 * @param {string} list
 * @returns {Runtime[]}
 */
export function chosenRuntimes(list) {
  return list.split(",").map((name) => {
    const runtime = RUNTIMES.get(name);
    if (runtime === undefined) {
      throw new RangeError(`Cannot run on ${name}: there are ${[...RUNTIMES.keys()].join(", ")}`);
    }
    return runtime;
  });
}
