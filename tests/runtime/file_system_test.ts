import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import type { FileSystem } from "../../src/engine/port/file_system.ts";
import { BunFileSystem } from "../../src/runtime/bun_file_system.ts";
import { chooseFileSystem, runtimeOf } from "../../src/runtime/choose_file_system.ts";
import { DenoFileSystem } from "../../src/runtime/deno_file_system.ts";
import { NodeFileSystem } from "../../src/runtime/node_file_system.ts";
import { fileSystemConformance } from "../conformance/file_system.ts";
import { temporaryFolder } from "./temporary_folder.ts";

const RUNTIME = runtimeOf(process.versions);

function declare(name: string, make: () => FileSystem, skip?: string): void {
  fileSystemConformance(name, async () => {
    const folder = await temporaryFolder();
    return {
      fileSystem: make(),
      folder: folder.path,
      symlink: (target, path) => symlink(target, path),
      release: () => folder[Symbol.asyncDispose](),
    };
  }, { skip });
}

declare("NodeFileSystem", () => new NodeFileSystem());
declare(
  "DenoFileSystem",
  () => new DenoFileSystem(),
  RUNTIME === "deno" ? undefined : "runs on Deno only",
);
declare(
  "BunFileSystem",
  () => new BunFileSystem(),
  RUNTIME === "bun" ? undefined : "runs on Bun only",
);

test("chooseFileSystem takes the runtime's own", () => {
  const chosen = chooseFileSystem();
  assert.equal(chosen.name, RUNTIME);
  assert.equal(chosen.hasKernelLock, RUNTIME !== "node");
  assert.equal(chooseFileSystem("node").name, "node");
});

test("chooseFileSystem refuses what can't work here", () => {
  for (const name of ["deno", "bun"] as const) {
    if (name === RUNTIME) continue;
    assert.throws(() => chooseFileSystem(name), /this is not (Deno|Bun); use "auto" or "node"/);
  }
  assert.throws(() => chooseFileSystem("ext4" as "auto"), /wants "auto", "node", "deno" or "bun"/);
  assert.throws(() => chooseFileSystem("toString" as "auto"), TypeError);
});

test("runtimeOf tells the runtimes apart", () => {
  assert.equal(runtimeOf({ node: "20.0.0" }), "node");
  assert.equal(runtimeOf({ node: "24.0.0", bun: "1.4.5" }), "bun");
  assert.equal(runtimeOf({ node: "24.0.0", deno: "2.9.6" }), "deno");
});
