/**
 * The codec's random cases, at length: `fuzz_soak.ts [CASES] [SEED]`, a million from a new seed
 * unless told otherwise.
 * @module
 */
import process from "node:process";
import { runFuzz } from "./_fuzz.ts";

const [cases = 1_000_000, seed = Date.now() >>> 0] = process.argv.slice(2).map(Number);
console.log(`codec fuzz: ${cases} cases, seed ${seed}`);
const { byKind } = runFuzz({ cases, seed });
for (const [kind, { accepted, refused }] of Object.entries(byKind)) {
  console.log(`  ${kind}: ${accepted} accepted, ${refused} refused`);
}
