import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url).href);
const PROGRAM = "tests/wasm/_load_program.ts";
const SERVED = /^\/(?:wasm\/[a-z_.]+|tests\/wasm\/_load_program)\.ts$/;
/** Programs start slowly on a busy machine. */
const timeout = 120_000;
const FOUND = "written 14, read 1000, same true";

/** Runs an installed program in a folder of its own; returns what it printed. */
async function run(command: string, args: readonly string[], folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", DENO_DIR: join(folder, "deno") },
  });
  return stdout.trim();
}

async function inEmptyFolder(action: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-codec-"));
  try {
    await action(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function installed(name: string): string {
  return join(ROOT, "node_modules", ".bin", name);
}

describe("the codec loads", () => {
  test("on Deno without any permission", { timeout }, () =>
    inEmptyFolder(async (folder) => {
      const args = ["run", "--no-prompt", "--no-config", join(ROOT, PROGRAM)];
      assert.equal(await run(installed("deno"), args, folder), FOUND);
    }));

  test("on Deno from a URL", { timeout }, () =>
    inEmptyFolder(async (folder) => {
      const server = createServer((request, response) => {
        const path = request.url ?? "";
        response.statusCode = SERVED.test(path) ? 200 : 404;
        response.setHeader("content-type", "application/typescript");
        response.end(SERVED.test(path) ? readFileSync(join(ROOT, path)) : "");
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
        const flags = ["--no-prompt", "--no-config", `--allow-import=${host}`];
        const args = ["run", ...flags, `http://${host}/${PROGRAM}`];
        assert.equal(await run(installed("deno"), args, folder), FOUND);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    }));

  test("on Bun", { timeout }, () =>
    inEmptyFolder(async (folder) => {
      assert.equal(await run(installed("bun"), [join(ROOT, PROGRAM)], folder), FOUND);
    }));

  test(
    "in a binary compiled by Bun, in an empty folder",
    { timeout },
    () =>
      inEmptyFolder(async (folder) => {
        const binary = join(folder, "program");
        const args = ["build", "--compile", `--outfile=${binary}`, join(ROOT, PROGRAM)];
        await run(installed("bun"), args, folder);
        await inEmptyFolder(async (empty) => assert.equal(await run(binary, [], empty), FOUND));
      }),
  );

  test("on Node", { timeout }, () =>
    inEmptyFolder(async (folder) => {
      const tsx = fileURLToPath(import.meta.resolve("tsx"));
      const args = ["--import", tsx, join(ROOT, PROGRAM)];
      assert.equal(await run("node", args, folder), FOUND);
    }));
});
