/** The single binary. @module */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execute, ROOT } from "./_process.ts";

/** Builds the binary as `npm run build:binary` does, into another folder; answers its path. */
export async function buildBinary(folder: string): Promise<string> {
  const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const [bun, ...words] = scripts["build:binary"].split(" ");
  assert.equal(bun, "bun");
  const path = join(folder, "tidemark");
  const args = words.map((word: string) => word.replace(/^--outfile=.*/, `--outfile=${path}`));
  const built = await execute([join(ROOT, "node_modules/.bin/bun"), ...args]);
  assert.equal(built.code, 0, built.stderr);
  return path;
}
