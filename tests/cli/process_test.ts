import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { VERSION } from "../../src/engine/version.ts";
import { execute, ROOT, Running, tidemarkIn } from "./_process.ts";
import { createCliIo } from "../../src/runtime/cli_io.ts";
import { run, withFolder } from "./_run.ts";

const TO_W = ["--job", "j", "--writer", "w"];

async function tailOf(store: string): Promise<string> {
  const { code, stdout, stderr } = await run([
    "restore",
    "--store",
    store,
    ...TO_W,
    "--at",
    "tail",
  ]);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function withSidecar(
  use: (sidecar: Running, url: string, store: string) => Promise<void>,
  ...flags: string[]
): Promise<void> {
  await withFolder(async (folder) => {
    const store = join(folder, "store");
    const serve = ["serve", "--store", store, "--listen", "127.0.0.1:0", ...flags];
    await using sidecar = new Running([...await tidemarkIn(folder), ...serve]);
    const [url] = await sidecar.said("stdout", /http:\/\/127\.0\.0\.1:\d+/);
    await use(sidecar, url, store);
  });
}

describe("tidemark serve", () => {
  test("says where it made the store, and at SIGTERM flushes what was buffered and closes", () =>
    withSidecar(async (sidecar, url, store) => {
      await sidecar.said("stderr", new RegExp(`New store store="${store}" id="[-0-9a-f]{36}"`));
      await fetch(`${url}/v1/jobs/j`, { method: "PUT" });
      const answer = await fetch(`${url}/v1/jobs/j/writers/w/changes?ack=buffered`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: '{"data":"one"}\n{"data":"two"}\n',
      });
      assert.equal((await answer.json()).ack, "buffered");
      sidecar.signal("SIGTERM");
      const { code, stderr } = await sidecar.ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /Closed/);
      assert.equal(await tailOf(store), "one\ntwo\n");
    }));

  test("goes on when whoever read its logs is gone", () =>
    withSidecar(async (sidecar, url) => {
      await sidecar.said("stderr", /New store/);
      sidecar.leaveErrors();
      for (let request = 0; request < 3; request++) {
        assert.equal((await fetch(`${url}/healthz`)).status, 200);
      }
      sidecar.signal("SIGTERM");
      assert.equal((await sidecar.ended).code, 0);
    }, "--log-requests"));

  test("ends at once at the second signal", () =>
    withSidecar(
      async (sidecar, url) => {
        const changes = `${url}/v1/jobs/j/writers/w/changes`;
        await fetch(`${url}/v1/jobs/j`, { method: "PUT" });
        const appended = await fetch(changes, {
          method: "POST",
          headers: { "content-type": "application/x-ndjson" },
          body: `{"data":"${"x".repeat(999)}"}\n`.repeat(32_000),
        });
        assert.equal(appended.status, 200);
        // An answer that nobody reads holds the sidecar open.
        const abort = new AbortController();
        const held = await fetch(`${changes}?at=tail`, { signal: abort.signal });
        assert.equal(held.status, 200);
        sidecar.signal("SIGTERM");
        await sidecar.said("stderr", /Closing/);
        sidecar.signal("SIGINT");
        assert.equal((await sidecar.ended).code, 130);
        abort.abort();
      },
      "--shutdown-ms-max",
      "600000",
    ));

  test("fails when its address is taken, and makes no store", () =>
    withSidecar(async (_sidecar, url) => {
      await withFolder(async (folder) => {
        const listen = ["--listen", new URL(url).host, "--store", join(folder, "store")];
        const tidemark = await tidemarkIn(folder);
        const { code, stderr } = await execute([...tidemark, "serve", ...listen]);
        assert.equal(code, 6);
        assert.match(stderr, /Cannot listen on 127\.0\.0\.1:\d+: /);
        assert.equal((await readdir(folder)).includes("store"), false);
      });
    }));
});

describe("tidemark as a process", () => {
  test("appends what is piped in and restores it", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const stdin = Array.from({ length: 20_000 }, (_, n) => `line ${n}\n`).join("");
      const tidemark = await tidemarkIn(folder);
      const append = [...tidemark, "append", "--store", store, ...TO_W];
      const { code, stdout, stderr } = await execute(append, { stdin });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /Appended 20000 changes/);
      assert.equal((await tailOf(store)) === stdin, true);
      const restore = [...tidemark, "restore", "--store", store, ...TO_W, "--at", "tail"];
      const head = await execute([
        "sh",
        "-c",
        '("$@"; echo "code $?" >&2) | head -n 1',
        "sh",
        ...restore,
      ]);
      assert.deepEqual([head.stdout, head.stderr], ["line 0\n", "code 0\n"]);
    }));

  test("says what it took when a signal ends an append whose input is open", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const args = ["append", "--store", store, ...TO_W];
      await using append = new Running([...await tidemarkIn(folder), ...args]);
      append.write("one\ntwo\nthr");
      await append.said("stderr", /New store/);
      append.signal("SIGINT");
      const { code, stdout, stderr } = await append.ended;
      assert.equal(code, 130, stderr);
      // The signal may come before the input does; a line that is cut is never taken.
      if (stdout.startsWith("Nothing to append")) return;
      assert.match(stdout, /^Appended 2 changes/);
      assert.equal(await tailOf(store), "one\ntwo\n");
    }));

  test("leaves no file when a signal ends a restore", () =>
    withFolder(async (folder) => {
      // The sidecar that it reads from answers the head and one change, and no more.
      const server = await createCliIo().serve(
        () =>
          Promise.resolve(
            new Response(
              new ReadableStream({
                start: (controller) => controller.enqueue(new Uint8Array([0x82, 0, 0x41, 0x61])),
                pull: () => new Promise(() => {}),
              }),
            ),
          ),
        { port: 0 },
      );
      try {
        await using restore = new Running([
          ...await tidemarkIn(folder),
          ...["restore", "--url", server.url, ...TO_W, "-o", join(folder, "out.txt")],
        ]);
        const temporary = async () => (await readdir(folder)).some((name) => name.endsWith(".tmp"));
        while (!await temporary());
        restore.signal("SIGTERM");
        const { code, stderr } = await restore.ended;
        assert.deepEqual([code, stderr.includes("Interrupted: ")], [143, true], stderr);
        assert.equal((await readdir(folder)).some((name) => name.includes("out.txt")), false);
      } finally {
        await server.close(0);
      }
    }));

  test("runs by its name in the checkout", async () => {
    const { code, stdout, stderr } = await execute([join(ROOT, "bin/tidemark"), "--version"]);
    assert.deepEqual([code, stdout.split("\n")[0]], [0, `tidemark ${VERSION}`], stderr);
  });
});
