import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import { createApp, type HttpApp } from "../../src/http/mod.ts";
import { problemResponse } from "../../src/http/problem.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { run, type RunOptions } from "./_run.ts";

const URL_OF_J = ["--url", "http://127.0.0.1:7460/", "--job", "j"];
const TO_W = [...URL_OF_J, "--writer", "w"];

/** Runs `use` with a sidecar in this process; `between` may answer in its place. */
async function withSidecar(
  use: (options: RunOptions) => Promise<void>,
  between: (request: Request, app: HttpApp) => Promise<Response> = (request, app) =>
    app.fetch(request),
): Promise<void> {
  await using store = await openStore("memory:");
  const app = createApp(store);
  await use({ io: { fetch: (request) => between(request, app) } });
}

function isAppend({ method, url }: Request): boolean {
  return method === "POST" && /\/changes(\?|$)/.test(url);
}

describe("commands with --url", () => {
  test("do what they do with --store", () =>
    withSidecar(async (options) => {
      const appended = await run(["append", ...TO_W], { ...options, stdin: "one\ntwo\n" });
      assert.equal(appended.code, 0, appended.stderr);
      assert.match(appended.stdout, /^Appended 2 changes to j\/w, .*next offset 2\n/);
      const made = await run(
        ["checkpoint", ...URL_OF_J, "--steps", "18446744073709551615", "--json"],
        options,
      );
      assert.equal(made.json.steps, "18446744073709551615");
      const restored = await run(["restore", ...TO_W], options);
      assert.deepEqual([restored.code, restored.stdout], [0, "one\ntwo\n"]);
      assert.match(restored.stderr, /Restored 2 changes of j\/w, 2 confirmed/);
      const part = await run(["restore", ...TO_W, "--from", "1", "--key-groups", "0-5"], options);
      assert.equal(part.stdout, "two\n");
      const resumed = await run(["resume", ...URL_OF_J, "--at", made.json.uuid], options);
      assert.match(resumed.stdout, /run 2\n.*\nw +2\n/);
      const stale = await run(["append", ...TO_W, "--offset", "2", "--run", "1"], {
        ...options,
        stdin: "x\n",
      });
      assert.equal(stale.code, 5, stale.stderr);
    }));

  test("retire a writer with the pipeline's next checkpoint, and delete a checkpoint", () =>
    withSidecar(async (options) => {
      const of = (command: string, ...args: string[]) =>
        run([command, ...URL_OF_J, ...args], options);
      await run(["append", ...TO_W], { ...options, stdin: "one\n" });
      const first = (await of("checkpoint", "--json")).json.uuid;
      assert.match((await of("retire", "--writer", "w")).stderr, /no terminal to ask at/);
      assert.match((await of("retire", "--writer", "v", "--yes")).stderr, /writer-not-found/);
      assert.equal((await of("retire", "--writer", "w", "--yes", "--metadata", "1")).code, 2);
      const look = await of("retire", "--writer", "w", "--dry-run");
      assert.match(
        look.stdout,
        /^Writer w of job j ends at offset 1: the pipeline's next checkpoint/,
      );
      const retired = await of("retire", "--writer", "w", "--yes", "--json");
      assert.deepEqual([retired.json.isClosed, retired.json.checkpoint], [true, null]);
      const more = await run(["append", ...TO_W], { ...options, stdin: "two\n" });
      assert.equal(more.code, 9, more.stderr);
      for (let i = 0; i < 2; i++) await of("checkpoint");
      assert.deepEqual((await of("show", "--json")).json.writers, []);
      const plan = await of("delete", first, "--dry-run", "--json");
      assert.deepEqual([plan.json.uuid, plan.json.isDryRun], [first, true]);
      const deleted = await of("delete", first, "--yes");
      assert.match(deleted.stdout, new RegExp(`^Deleted checkpoint ${first} of job j, .* freed\n`));
      assert.equal((await of("delete", first, "--yes")).code, 3);
    }));

  test("keep and remove checkpoints, and say what there is", () =>
    withSidecar(async (options) => {
      const of = (command: string, ...args: string[]) =>
        run([command, ...URL_OF_J, ...args], options);
      await run(["append", ...TO_W], { ...options, stdin: "one\n" });
      const uuids: string[] = [];
      for (let i = 0; i < 3; i++) uuids.push((await of("checkpoint", "--json")).json.uuid);
      const pinned = await of("pin", uuids[0], "--reason", "why not");
      assert.equal(pinned.stdout, `Pinned checkpoint ${uuids[0]} of job j: why not\n`);
      assert.match((await of("ls")).stdout, new RegExp(`\n${uuids[0]} .* pinned\n[^]*\nw +1 +1 +`));
      assert.equal((await run(["ls", "--url", URL_OF_J[1]], options)).stdout, "j\n");
      const shown = await of("show", "--at", uuids[0], "--json");
      assert.deepEqual([shown.json.pin, shown.json.fingerprint], ["why not", "0"]);
      const set = await of("retention", "--min-count", "1", "--max-age", "7d");
      assert.match(set.stdout, /keeps the newest 1 checkpoint, and older ones: no older than 1w\n/);
      await of("retention", "--max-age", "none");
      assert.match(
        (await of("gc", "--explain", uuids[1])).stdout,
        /goes: checkpoint \S+ is beyond the newest 1/,
      );
      assert.equal((await of("gc")).code, 2);
      const done = await of("gc", "--yes", "--now", "--json");
      assert.deepEqual(done.json.removed, [uuids[1]]);
      await of("unpin", uuids[0]);
      assert.match((await of("gc", "--dry-run")).stdout, new RegExp(`${uuids[0]} +goes to rest `));
      assert.match((await of("verify")).stdout, /^Job j has all it needs: 2 checkpoints/);
      assert.match((await of("verify", "--full")).stdout, /^Job j is whole: 2 checkpoints/);
      assert.equal((await of("du", "--json")).json.kinds.checkpoints.objects, 2);
      const all = await run(["du", "--url", URL_OF_J[1]], options);
      assert.match(all.stdout, /^JOB .*\nj +.* 2\n\(all\) /);
      for (const fallback of [[], ["--fallback"]]) {
        assert.equal((await run(["restore", ...TO_W, ...fallback], options)).stdout, "one\n");
        assert.equal((await of("resume", ...fallback, "--json")).json.checkpoint.uuid, uuids[2]);
      }
    }));

  test("make no job by setting its retention", () =>
    withSidecar(async (options) => {
      const { code, stderr } = await run(["retention", ...URL_OF_J, "--min-count", "1"], options);
      assert.equal(code, 3, stderr);
      assert.equal(
        (await run(["du", "--url", URL_OF_J[1], "--json"], options)).json.jobs.length,
        0,
      );
    }));

  test("restore many pieces whole", () =>
    withSidecar(async (options) => {
      const lines = Array.from({ length: 30_000 }, (_, n) => `line ${n} ${"x".repeat(n % 300)}\n`);
      const stdin = lines.join("");
      assert.equal((await run(["append", ...TO_W], { ...options, stdin })).code, 0);
      const { code, stdout, stderr } = await run(["restore", ...TO_W, "--at", "tail"], options);
      assert.equal(code, 0, stderr);
      assert.equal(stdout === stdin, true);
    }));

  test("pass the sidecar's errors on", () =>
    withSidecar(async (options) => {
      const { code, stderr } = await run(["restore", ...TO_W], options);
      assert.equal(code, 3);
      assert.match(stderr, /code: job-not-found/);
    }));

  test("say that nobody answers", async () => {
    const io = { fetch: () => Promise.reject(new TypeError("connection reset")) };
    const { code, stderr } = await run(["checkpoint", ...URL_OF_J], { io });
    assert.equal(code, 6);
    assert.match(stderr, /Cannot get an answer from http:\/\/127.0.0.1:7460: connection reset/);
    assert.match(stderr, /code: server-unreachable/);
    assert.match(stderr, /outcome: unknown/);
  });

  test("say that nothing was sent where nobody listens", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const at = ["--url", `http://127.0.0.1:${port}`];
    const { code, stderr } = await run(["checkpoint", "--job", "j", ...at]);
    assert.equal(code, 6);
    assert.match(stderr, /code: server-unreachable/);
    assert.doesNotMatch(stderr, /outcome/);
  });

  test("say that somebody else answers", async () => {
    const io = { fetch: () => Promise.resolve(new Response("hello", { status: 404 })) };
    const { code, stderr } = await run(["restore", ...TO_W], { io });
    assert.equal(code, 6);
    assert.match(stderr, /it is no Tidemark sidecar/);
    const listed = await run(["ls", "--url", URL_OF_J[1]], { io });
    for (const reading of [stderr, listed.stderr]) assert.doesNotMatch(reading, /outcome/);
    const json = { fetch: () => Promise.resolve(new Response("{}")) };
    const other = await run(["ls", "--url", URL_OF_J[1]], { io: json });
    assert.equal(other.code, 6);
    assert.match(other.stderr, /it is no Tidemark sidecar/);
    const changing = await run(["checkpoint", ...URL_OF_J], { io });
    assert.match(changing.stderr, /outcome: unknown/);
  });
});

describe("append with --url", () => {
  test("waits where the sidecar takes no more", () => {
    let refusals = 3;
    return withSidecar(async (options) => {
      const { code, stdout, stderr } = await run(["append", ...TO_W], { ...options, stdin: "a\n" });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /Appended 1 change /);
      assert.equal(refusals, 0);
    }, (request, app) => {
      if (!isAppend(request) || refusals === 0) return app.fetch(request);
      refusals--;
      return Promise.resolve(problemResponse(new TidemarkError("backpressure", "Cannot append")));
    });
  });

  test("repeats a lost answer at an offset, and is taken once", () => {
    let lost = 2;
    return withSidecar(async (options) => {
      const args = ["append", ...TO_W, "--offset", "0"];
      const { code, stderr } = await run(args, { ...options, stdin: "a\nb\n" });
      assert.equal(code, 0, stderr);
      const restored = await run(["restore", ...TO_W, "--at", "tail"], options);
      assert.equal(restored.stdout, "a\nb\n");
    }, async (request, app) => {
      const answer = await app.fetch(request);
      if (!isAppend(request) || lost === 0) return answer;
      lost--;
      throw new TypeError("connection reset");
    });
  });

  test("does not repeat a lost answer without an offset: it might be taken twice", () =>
    withSidecar(async (options) => {
      const { code, stderr } = await run(["append", ...TO_W], { ...options, stdin: "a\n" });
      assert.equal(code, 6);
      assert.match(stderr, /nothing of this input was acknowledged/);
      assert.match(stderr, /outcome: unknown/);
    }, (request, app) => {
      if (isAppend(request)) return Promise.reject(new TypeError("connection reset"));
      return app.fetch(request);
    }));
});

describe("restore with --url", () => {
  /** Answers a restore with its body changed. */
  function withBody(change: (bytes: Uint8Array) => Uint8Array) {
    return async (request: Request, app: HttpApp): Promise<Response> => {
      const answer = await app.fetch(request);
      if (request.method !== "GET") return answer;
      const bytes = new Uint8Array(await answer.arrayBuffer());
      return new Response(change(bytes) as Uint8Array<ArrayBuffer>, answer);
    };
  }

  const cuts: [string, (bytes: Uint8Array) => Uint8Array, RegExp][] = [
    ["without its trailer", (bytes) => bytes.subarray(0, 12), /ends without its trailer/],
    ["within a change", (bytes) => bytes.subarray(0, 4), /ends without its trailer/],
    ["within its trailer", (bytes) => bytes.subarray(0, -3), /last item can't be read/],
    ["with nothing", (bytes) => bytes.subarray(0, 0), /ends without its trailer/],
    ["with a change missing", (bytes) => bytes.subarray(6), /its trailer says 2 changes/],
  ];
  for (const [name, change, message] of cuts) {
    test(`does not take an answer ${name} for whole`, () =>
      withSidecar(async (options) => {
        await run(["append", ...TO_W], { ...options, stdin: "one\ntwo\n" });
        const { code, stderr } = await run(["restore", ...TO_W, "--at", "tail"], options);
        assert.equal(code, 6, stderr);
        assert.match(stderr, message);
      }, withBody(change)));
  }

  test("tells why the sidecar cut it short", () =>
    withSidecar(async (options) => {
      const { code, stderr } = await run(["restore", ...TO_W], options);
      assert.equal(code, 8, stderr);
      assert.match(stderr, /code: corrupt/);
      assert.match(stderr, /block 3/);
    }, () => {
      // {"error": {"code": "corrupt", "detail": "block 3"}}
      const item = "\xa1\x65error\xa2\x64code\x67corrupt\x66detail\x67block 3";
      return Promise.resolve(
        new Response(Uint8Array.from(item, (character) => character.charCodeAt(0))),
      );
    }));
});
