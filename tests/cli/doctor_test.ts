import assert from "node:assert/strict";
import { chmod, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createApp, type HttpAppOptions } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { type Ran, run, type RunOptions, withFolder, withStore } from "./_run.ts";

const ORPHAN = ".tmp-probe-01a22a92-1ae8-748b-b347-2026a263a87f";

/** Names and bytes of everything below a folder. */
async function contentOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() ? `${path} ${(await readFile(path)).toString("base64")}` : path;
    }),
  );
}

async function doctor(store: string, flags: string[] = [], options: RunOptions = {}): Promise<Ran> {
  return await run(["doctor", "--store", store, "--json", ...flags], options);
}

/** One check of an answer. */
function checkOf({ json, stderr }: Ran, name: string): Record<string, string> {
  const found = json?.checks.find((check: { name: string }) => check.name === name);
  assert.notEqual(found, undefined, `no check ${name}: ${JSON.stringify(json)} ${stderr}`);
  return found;
}

/** That a check found something, with what to do, and how the doctor ended. */
function assertFound(ran: Ran, name: string, result: string, found: RegExp, code: number): void {
  const check = checkOf(ran, name);
  assert.deepEqual([check.result, ran.code], [result, code], JSON.stringify(check));
  assert.match(check.found, found);
  assert.equal(typeof check.next, "string");
}

describe("doctor on a folder", () => {
  test("looks at all there is of a store, and changes nothing", () =>
    withStore(async (store) => {
      const before = await contentOf(store);
      const ran = await doctor(store);
      assert.equal(ran.code, 0, JSON.stringify(ran.json));
      assert.deepEqual(ran.json.checks.map(({ name }: { name: string }) => name), [
        ...["runtime", "settings", "access", "folder", "store", "file-system", "free-space"],
        ...["disk", "syncs", "clock", "reserve", "room", "leftovers", "jobs"],
      ]);
      assert.match(checkOf(ran, "jobs").found, /^1 job: nobody works on them$/);
      assert.deepEqual((await contentOf(store)).sort(), before.sort());
      const text = await run(["doctor", "--store", store]);
      assert.match(text.stdout, /^RESULT +CHECK +FOUND\n.*\nok +disk +exclusive create/s);
    }));

  test("names the owner of a job, beside it", () =>
    withStore(async (store) => {
      await using owner = await openStore(store, { create: false });
      await owner.job("j");
      const ran = await doctor(store);
      assert.match(checkOf(ran, "jobs").found, /^1 job: j by process \d+ \(\w+ [0-9.]+\) on /);
    }));

  test("makes nothing where there is no store, and takes an empty folder for a new one", () =>
    withFolder(async (folder) => {
      const missing = await doctor(join(folder, "deep", "store"));
      assert.equal(missing.code, 0);
      assert.match(checkOf(missing, "folder").found, /is not there yet/);
      const empty = await doctor(folder);
      assert.match(checkOf(empty, "store").found, /^none yet/);
      assert.match(checkOf(empty, "disk").found, /hard links/);
      assert.deepEqual(await readdir(folder), []);
      const wanted = await doctor(folder, [], { env: { TIDEMARK_EXISTING: "true" } });
      assertFound(wanted, "store", "fault", /store/, 3);
    }));

  test("leaves a folder alone that holds something else", () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, "thesis.txt"), "mine");
      assertFound(await doctor(folder), "store", "fault", /1 other name in the folder/, 4);
      assert.deepEqual(await readdir(folder), ["thesis.txt"]);
    }));

  test("tells a damaged store and one of a newer format, and touches neither", () =>
    withStore(async (store) => {
      const path = join(store, "TIDEMARK");
      const marker = await readFile(path, "utf8");
      await writeFile(path, marker.replace(/[0-9a-f]"/, 'z"'));
      const before = await contentOf(store);
      assertFound(await doctor(store), "store", "fault", /TIDEMARK/, 8);
      assert.deepEqual((await contentOf(store)).sort(), before.sort());
    }));

  test("tells a job whose catalog is gone", () =>
    withStore(async (store) => {
      await rm(join(store, "jobs/j/catalog"), { recursive: true });
      assertFound(await doctor(store), "job j", "fault", /catalog/, 8);
    }));

  test("warns of a folder that is open to everyone, of a reserve given up, of leftovers", () =>
    withStore(async (store) => {
      await chmod(store, 0o777);
      await rm(join(store, "RESERVE"));
      await writeFile(join(store, ORPHAN), "seven b");
      await utimes(join(store, ORPHAN), 1_700_000_000, 1_700_000_000);
      const ran = await doctor(store);
      assertFound(ran, "folder", "warning", /everyone may write/, 0);
      assertFound(ran, "reserve", "warning", /not there/, 0);
      assertFound(ran, "leftovers", "warning", /1 temporary file, 7 bytes/, 0);
      assert.equal(ran.json.result, "warning");
      assert.equal((await readdir(store)).includes(ORPHAN), true);
    }));

  test("tells of a limit that is reached", () =>
    withStore(async (store) => {
      const ran = await doctor(store, [], { env: { TIDEMARK_STORE_BYTES_MAX: "4MiB" } });
      assertFound(ran, "room", "fault", /4\.0 MiB of 4\.0 MiB/, 4);
    }));

  test("tells of settings that can't work, and of a variable that nobody looks at", () =>
    withFolder(async (folder) => {
      const env = { TIDEMARK_IN_FLIGHT_BYTES_MAX: "1MiB" };
      assertFound(await doctor(folder, [], { env }), "settings", "fault", /is above/, 2);
      const open = await doctor(folder, [], { env: { TIDEMARK_LISTEN: "0.0.0.0:80" } });
      assertFound(open, "access", "fault", /without tokens/, 2);
      const tokens = join(folder, "tokens.json");
      await writeFile(tokens, '{"tokens": []}', { mode: 0o644 });
      const shared = await doctor(join(folder, "store"), [], {
        env: { TIDEMARK_TOKEN_FILE: tokens },
      });
      assertFound(shared, "access", "fault", /tokens\.json/, 6);
      const misspelled = { TIDEMARK_STOER: "x", TIDEMARK_PORT_7460_TCP: "tcp://10.0.0.1:7460" };
      const warned = await doctor(join(folder, "store"), [], { env: misspelled });
      assertFound(
        warned,
        "settings",
        "warning",
        /^nobody looks at TIDEMARK_STOER \(did you mean TIDEMARK_STORE\?\)$/,
        0,
      );
    }));
});

/** Asks the doctor about a sidecar in this process. */
async function askAbout(options: HttpAppOptions, env: Record<string, string> = {}): Promise<Ran> {
  await using store = await openStore("memory:");
  const app = createApp(store, options);
  const io = { fetch: (request: Request) => app.fetch(request) };
  return await run(["doctor", "--url", "http://127.0.0.1:7460", "--json"], { env, io });
}

describe("doctor on a sidecar", () => {
  test("asks whether it answers, is ready, and is of this release", async () => {
    const ran = await askAbout({});
    assert.equal(ran.code, 0, JSON.stringify(ran.json));
    assert.match(checkOf(ran, "store").found, /^[0-9a-f-]{36} in memory, 0 jobs$/);
    assert.equal(checkOf(ran, "version").result, "ok");
  });

  test("tells that it is closing", async () => {
    assertFound(await askAbout({ isDraining: () => true }), "ready", "fault", /closing/, 6);
  });

  test("tells that it wants a token", async () => {
    const ran = await askAbout({ access: { grantOf: () => undefined } }, {
      TIDEMARK_TOKEN: "x".repeat(32),
    });
    assertFound(ran, "store", "fault", /token/i, 4);
    assert.match(checkOf(ran, "store").next, /TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE/);
    assert.equal(checkOf(ran, "access").found, "a token is sent");
    assert.equal(checkOf(await askAbout({}), "access").found, "no token is sent");
  });

  test("tells of one that takes the request and never answers, and lets go of it", async () => {
    const asked: Request[] = [];
    const fetch = (request: Request): Promise<Response> => {
      asked.push(request);
      return new Promise(() => {});
    };
    const timeout = () => ({ over: Promise.resolve(), cancel: () => {} });
    const ran = await run(["doctor", "--url", "http://127.0.0.1:7460", "--json"], {
      io: { fetch, timeout },
    });
    assertFound(
      ran,
      "sidecar",
      "fault",
      /Cannot reach .*: it has not answered \/healthz within/,
      6,
    );
    assert.equal(asked[0]?.signal.aborted, true);
  });

  test("tells what is no sidecar, does not answer, or is of another release or time", async () => {
    const ask = (answer: (path: string) => Response | Promise<Response>): Promise<Ran> =>
      run(["doctor", "--url", "http://127.0.0.1:7460", "--json"], {
        io: { fetch: (request) => Promise.resolve(answer(new URL(request.url).pathname)) },
      });
    const html = await ask(() => new Response("<html>", { status: 200 }));
    assertFound(html, "sidecar", "fault", /answered 200, and not as a sidecar does/, 4);
    const gone = await ask(() => Promise.reject(new TypeError("fetch failed")));
    assertFound(gone, "sidecar", "fault", /Cannot reach .*fetch failed/, 6);
    const cause = new Error("invalid peer certificate");
    const untrusted = await ask(() => Promise.reject(new TypeError("fetch failed", { cause })));
    assertFound(untrusted, "sidecar", "fault", /Cannot reach .*invalid peer certificate/, 6);
    const other = await ask((path) =>
      Response.json({ status: "ok", version: "9.9.9", bytesFree: 1, bytesTotal: 100 }, {
        headers: path === "/healthz" ? { date: "Mon, 01 Jan 2024 00:00:00 GMT" } : {},
      })
    );
    assertFound(other, "version", "warning", /sidecar is 9\.9\.9/, 0);
    assertFound(other, "clock", "warning", /-\d+ s ahead/, 0);
    assertFound(other, "free-space", "warning", /1 bytes of 100 bytes/, 0);
    const nowhere = await run(["doctor", "--url", "nonsense", "--json"]);
    assertFound(nowhere, "sidecar", "fault", /wants an address/, 2);
  });
});
