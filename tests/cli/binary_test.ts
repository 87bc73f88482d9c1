import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { VERSION } from "../../src/engine/version.ts";
import { buildBinary } from "./_binary.ts";
import { execute, Running, RUNTIME } from "./_process.ts";
import { withFolder } from "./_run.ts";

const TO_W = ["--job", "j", "--writer", "w"];

/** Encoded on a thread of its own. */
const LARGE = `${"three ".repeat(100_000)}\n`;

const skip = RUNTIME === "deno" && "built once under Bun and once under Node";

test(
  "the single binary serves, appends and restores in an empty folder",
  { skip },
  () =>
    withFolder(async (folder) => {
      const tidemark = await buildBinary(folder);
      const cwd = join(folder, "empty");
      await mkdir(cwd);
      const version = await execute([tidemark, "--version"], { cwd });
      assert.equal(version.stdout.split("\n")[0], `tidemark ${VERSION}`, version.stderr);
      const facts = JSON.parse((await execute([tidemark, "--version", "--json"], { cwd })).stdout);
      const commit = await execute(["git", "rev-parse", "HEAD"]);
      assert.equal(facts.build.commit, commit.code === 0 ? commit.stdout.trim() : "unknown");
      assert.match(`${facts.platform} ${facts.build.target} ${facts.runtime}`, /^(\S+) \1 bun /);
      const stdin = "one\ntwo\n";
      const local = await execute([tidemark, "append", ...TO_W], { cwd, stdin });
      assert.equal(local.code, 0, local.stderr);
      await using sidecar = new Running([tidemark, "serve", "--listen", "127.0.0.1:0"], cwd);
      const [url] = await sidecar.said("stdout", /http:\/\/127\.0\.0\.1:\d+/);
      const remote = await execute([tidemark, "append", "--url", url, ...TO_W], { cwd, stdin });
      assert.match(remote.stdout, /next offset 4/, remote.stderr);
      const large = await execute([tidemark, "append", "--url", url, ...TO_W], {
        cwd,
        stdin: LARGE,
      });
      assert.match(large.stdout, /next offset 5/, large.stderr);
      sidecar.signal("SIGTERM");
      const { code, stderr } = await sidecar.ended;
      assert.equal(code, 0, stderr);
      assert.equal(/WARN|ERROR/.test(stderr), false, stderr);
      const restored = await execute([tidemark, "restore", ...TO_W, "--at", "tail"], { cwd });
      assert.equal(restored.stdout, stdin.repeat(2) + LARGE, restored.stderr);
    }),
);
