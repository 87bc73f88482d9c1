/**
 * Makes the golden files that do not exist yet; never touches one that does.
 *
 *   npx tsx tests/engine/format/make_golden.ts
 * @module
 */
import { existsSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { encodeFact } from "../../../src/engine/format/fact.ts";
import { encodeGoldenFile, encodeGoldenState, FACT } from "./_golden.ts";

const FILES: Readonly<Record<string, () => Uint8Array>> = {
  "change_file_v1_lz4.cborseq.lz4": () => encodeGoldenFile("lz4"),
  "change_file_v1_none.cborseq.lz4": () => encodeGoldenFile("none"),
  "state_v1_lz4.lz4": () => encodeGoldenState("lz4"),
  "state_v1_none.lz4": () => encodeGoldenState("none"),
  "fact_v1.json": () => encodeFact("golden", FACT),
};

for (const [name, make] of Object.entries(FILES)) {
  const path = fileURLToPath(new URL(`../../golden/${name}`, import.meta.url));
  if (!existsSync(path)) writeFileSync(path, make());
}
