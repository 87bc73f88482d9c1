/** The single binary. @module */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execute, ROOT } from "./_process.ts";

/** Builds the binary as `npm run build:binary` does, into another folder; answers its path. */
export async function buildBinary(folder: string): Promise<string> {
  const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const [node, tool, ...none] = scripts["build:binary"].split(" ");
  assert.deepEqual([node, none], ["node", []]);
  const path = join(folder, "tidemark");
  const built = await execute([node, join(ROOT, tool), "--outfile", path]);
  assert.equal(built.code, 0, built.stderr);
  return path;
}
