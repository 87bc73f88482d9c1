import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { ROOT, Running, RUNTIME } from "../cli/_process.ts";
import { RawConnection } from "./_raw.ts";

const DESCRIPTORS = 100;
const ATTEMPTS_MAX = 50_000;
const skip = RUNTIME !== "deno"
  ? "this server goes on listening by itself"
  : process.platform === "linux"
  ? false
  : "only Linux has prlimit";

test("a server without descriptors for connections listens again; those that are open live on", {
  skip,
}, async () => {
  const program = join(ROOT, "tests/http/_server_process.ts");
  const limited = ["prlimit", `--nofile=${DESCRIPTORS}`];
  const deno = [process.execPath, "run", "-A", "--no-check", "--quiet", program];
  await using running = new Running([...limited, ...deno]);
  const port = Number((await running.said("stdout", /port (\d+)/))[1]);
  using kept = new RawConnection(port);
  kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await kept.heard(/ok$/);
  const stalled = Array.from({ length: DESCRIPTORS * 2 }, () => new RawConnection(port));
  await running.said("stdout", /the server stopped listening: it begins anew/);
  kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.match(await kept.heard(/ok[^]+ok$/), /ok[^]+ok$/);
  for (const connection of stalled) connection[Symbol.dispose]();
  let text: string | undefined;
  for (let attempt = 0; attempt < ATTEMPTS_MAX && text === undefined; attempt++) {
    const asked = fetch(`http://127.0.0.1:${port}/`);
    text = await asked.then((answer) => answer.text(), () => undefined);
  }
  assert.equal(text, "ok");
});
