/**
 * Many pipelines over a network that loses, and sidecars that die.
 *
 *   npm run soak -- client -- 1000 7     so many pipelines (default 300), from seed 7 (default: the time)
 * @module
 */
import process from "node:process";
import { play } from "./_model.ts";

const [pipelines = "300", seed = String(Date.now() % 1e6)] = process.argv.slice(2);
for (let at = Number(seed); at < Number(seed) + Number(pipelines); at++) {
  await play(at).catch((cause) => {
    throw new Error(`With seed ${at}: ${cause}`, { cause });
  });
}
console.log(`${pipelines} pipelines from seed ${seed} were restored`);
