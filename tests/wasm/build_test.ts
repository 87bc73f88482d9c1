import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { instantiate } from "../../wasm/_instance.ts";
import { renderModules } from "../../wasm/build.mjs";
import { ARENA_START } from "../../wasm/limits.ts";
import { HASH_STATE_BYTES, SLOP_BYTES } from "../../wasm/mod.ts";
import { MODULE_BASE64 } from "../../wasm/module.gen.ts";

/** The compiler takes some seconds, more on a busy machine. */
const timeout = 120_000;

test("module.gen.ts is what its sources compile to, on every runtime", { timeout }, async () => {
  const path = fileURLToPath(new URL("../../wasm/module.gen.ts", import.meta.url).href);
  assert.equal(
    readFileSync(path, "utf8"),
    await renderModules(),
    "run `npm run build:wasm` and commit what it writes",
  );
});

test("the module imports nothing and exports what the codec uses", () => {
  const bytes = Uint8Array.from(atob(MODULE_BASE64), (character) => character.charCodeAt(0));
  const module = new WebAssembly.Module(bytes);
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const functions = WebAssembly.Module.exports(module)
    .filter(({ kind }) => kind === "function").map(({ name }) => name).sort();
  assert.deepEqual(functions, [
    "compress",
    "decompress",
    "encodeBlocks",
    "encodeBlocksBeside",
    "joinBlocks",
    "xxh32",
    "xxh32Begin",
    "xxh32Digest",
    "xxh32Update",
    "xxh64",
    "xxh64Begin",
    "xxh64Digest",
    "xxh64Update",
  ]);
});

test("limits.ts says the sizes that the module has", () => {
  const module = instantiate(0);
  assert.equal(module.ARENA_START.value, ARENA_START);
  assert.equal(module.SLOP_BYTES.value, SLOP_BYTES);
  assert.equal(module.HASH_STATE_BYTES.value, HASH_STATE_BYTES);
});
