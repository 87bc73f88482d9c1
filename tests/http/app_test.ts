import assert from "node:assert/strict";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import type { JobOptions } from "../../src/engine/types.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { temporaryFolder } from "../runtime/temporary_folder.ts";
import { TestApp, withApp, withJob } from "./_app.ts";
import { jobWith, storeWith } from "./_failing_store.ts";

const NDJSON = "application/x-ndjson";
const CHANGES = "/v1/jobs/j/writers/w/changes";

describe("createApp", () => {
  test("answers who asks whether it lives and takes requests", () =>
    withApp(async (app) => {
      assert.deepEqual((await app.ask("GET", "/healthz")).json, { status: "ok" });
      const ready = await app.ask("GET", "/readyz");
      assert.deepEqual(ready.json, { status: "ready", store: app.store.id });
      assert.equal((await app.ask("HEAD", "/healthz")).status, 200);
    }));

  test("tells caches to keep nothing, where they would otherwise", () =>
    withApp(async (app) => {
      for (const accept of ["application/json", "application/cbor"]) {
        const headers = { accept };
        const made = await app.ask("PUT", "/v1/jobs/j", { headers });
        assert.deepEqual([made.status, made.headers.get("cache-control")], [201, null]);
        const shown = await app.ask("GET", "/v1/jobs/j", { headers });
        assert.deepEqual([shown.status, shown.headers.get("cache-control")], [200, "no-store"]);
        const missing = await app.ask("GET", "/v1/jobs/k", { headers });
        assert.deepEqual([missing.status, missing.headers.get("cache-control")], [404, "no-store"]);
        await app.store.deleteJob("j");
      }
    }));

  test("is not ready while its store is not where it was", async () => {
    await using folder = await temporaryFolder();
    const [path, elsewhere] = [join(folder.path, "store"), join(folder.path, "elsewhere")];
    await using store = await openStore(path);
    const app = new TestApp(store, createApp(store));
    assert.equal((await app.ask("GET", "/readyz")).status, 200);
    await rename(path, elsewhere);
    const gone = await app.ask("GET", "/readyz");
    assert.deepEqual([gone.status, gone.headers.get("retry-after")], [503, "1"]);
    assert.deepEqual([gone.json.status, gone.json.code], ["unavailable", "store-not-found"]);
    assert.match(gone.json.reason, /store/);
    await (await openStore(path)).close();
    const other = await app.ask("GET", "/readyz");
    assert.deepEqual([other.status, other.json.code], [503, "store-not-found"]);
    assert.equal((await app.ask("GET", "/healthz")).status, 200);
    await rm(path, { recursive: true });
    await rename(elsewhere, path);
    assert.equal((await app.ask("GET", "/readyz")).status, 200);
  });

  test("refuses requests while it closes, and says so to who asks", () =>
    withApp(async (app) => {
      assert.equal((await app.ask("GET", "/healthz")).status, 200);
      assert.equal((await app.ask("GET", "/readyz")).status, 503);
      const refused = await app.ask("PUT", "/v1/jobs/j");
      assert.deepEqual([refused.status, refused.json.code], [503, "closed"]);
      assert.deepEqual(await app.store.jobs(), []);
    }, { isDraining: () => true }));

  test("says that it closes to whoever's body breaks off then, as nothing of it was taken", () => {
    let isDraining = false;
    return withJob(async (app) => {
      const paths = [["changes", "application/cbor-seq"], ["persist", "application/json"]];
      for (const closes of [false, true]) {
        for (const [path, type] of paths) {
          isDraining = false;
          const body = new ReadableStream<Uint8Array>({
            pull(controller) {
              isDraining = closes;
              controller.error(new Error("cut"));
            },
          });
          const { status, json } = await app.ask("POST", `/v1/jobs/j/writers/w/${path}`, {
            body,
            type,
          });
          const wanted = closes ? [503, "closed"] : [400, "invalid-request"];
          assert.deepEqual([status, json.code], wanted, path);
        }
      }
    }, { isDraining: () => isDraining });
  });

  test("answers 404 for a path and 405 for a method that it does not have", () =>
    withApp(async (app) => {
      const path = await app.ask("GET", "/v2/jobs");
      assert.deepEqual([path.status, path.json.code], [404, "invalid-request"]);
      assert.match(path.json.detail, /GET \/docs shows which there are/);
      const method = await app.ask("PATCH", "/v1/jobs/j");
      assert.equal(method.status, 405);
      assert.equal(method.headers.get("allow"), "PUT, GET, DELETE");
    }));

  test("refuses pages of other sites", () =>
    withApp(async (app) => {
      for (const origin of ["http://evil.example", "null", "http://127.0.0.1:1"]) {
        const answer = await app.ask("PUT", "/v1/jobs/j", { headers: { origin } });
        assert.equal(answer.status, 403, origin);
      }
      const own = await app.ask("PUT", "/v1/jobs/j", {
        headers: { origin: "http://127.0.0.1:7460" },
      });
      assert.equal(own.status, 201);
    }));

  test("takes each job over once, where that is wanted", async () => {
    for (const takeOver of [true, false]) {
      const asked: (boolean | undefined)[] = [];
      const job = (_id: string, options?: JobOptions) => {
        asked.push(options?.takeOver);
        return asked.length === 1
          ? Promise.reject(new TidemarkError("job-busy", "Cannot open job j: it is busy"))
          : Promise.resolve(jobWith({ checkpoints: () => Promise.resolve([]) }));
      };
      const app = createApp(storeWith(job), { takeOver });
      for (let request = 0; request < 4; request++) {
        await app.fetch(new Request("http://127.0.0.1/v1/jobs/j/checkpoints"));
      }
      assert.deepEqual(asked, [takeOver, takeOver, false, false]);
    }
  });

  test("refuses limits that are none", () => {
    const store = storeWith(() => Promise.reject(new Error("not asked")));
    assert.throws(() => createApp(store, { bodyBytesMax: 0 }), RangeError);
    assert.throws(() => createApp(store, { bodyBytesInFlightMax: 1.5 }), RangeError);
  });
});

describe("request bodies", () => {
  test("are refused above the cap, stated or not", () =>
    withJob(async (app) => {
      const body = `{"data":"${"x".repeat(100)}"}\n`;
      const headers = { "content-length": String(body.length) };
      const stated = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
      assert.equal(stated.status, 413);
      assert.equal(stated.json.details.bytesMax, 64);
      const streamed = await app.ask("POST", CHANGES, { body: streamOf(body), type: NDJSON });
      assert.equal(streamed.status, 413);
      const fits = await app.ask("POST", CHANGES, { body: '{"data":"x"}', type: NDJSON });
      assert.equal(fits.status, 200);
    }, { bodyBytesMax: 64 }));

  test("come whole from a stream in pieces of any size", () =>
    withJob(async (app) => {
      const body = Array.from({ length: 20_000 }, (_, n) => `{"data":"change ${n}"}\n`).join("");
      const answer = await app.ask("POST", CHANGES, { body: streamOf(body), type: NDJSON });
      assert.equal(answer.json?.nextOffset, 20_000, answer.text);
    }));

  test("in memory at a time are bounded: what does not fit is told to come back", () =>
    withJob(async (app) => {
      let finish = (): void => {};
      const slow = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"data":"slow"}\n'));
          finish = () => controller.close();
        },
      });
      const first = app.ask("POST", CHANGES, {
        body: slow,
        type: NDJSON,
        headers: { "content-length": "16" },
      });
      await Promise.resolve();
      const body = '{"data":"quick"}\n';
      const headers = { "content-length": String(body.length) };
      const crowded = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
      assert.deepEqual([crowded.status, crowded.json.code], [503, "backpressure"]);
      finish();
      assert.equal((await first).status, 200);
      const later = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
      assert.equal(later.status, 200);
    }, { bodyBytesMax: 20, bodyBytesInFlightMax: 30 }));

  test("that end before their stated length are refused", () =>
    withJob(async (app) => {
      const headers = { "content-length": "20" };
      const answer = await app.ask("POST", CHANGES, {
        body: '{"data":"x"}',
        type: NDJSON,
        headers,
      });
      assert.equal(answer.status, 400);
      assert.match(answer.json.detail, /content-length says 20 bytes, got 12/);
    }));

  test("that break off are refused, and their memory is free again", () =>
    withJob(async (app) => {
      for (let i = 0; i < 3; i++) {
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            controller.error(new Error("the line broke"));
          },
        });
        const answer = await app.ask("POST", CHANGES, { body, type: NDJSON });
        assert.equal(answer.status, 400);
      }
      assert.equal((await app.append([{ data: "x" }])).status, 200);
    }, { bodyBytesMax: 20, bodyBytesInFlightMax: 30 }));

  test("of JSON are refused when they are something else", () =>
    withJob(async (app) => {
      const path = "/v1/jobs/j/checkpoints";
      const type = "application/json";
      assert.equal((await app.ask("POST", path, { body: "{", type })).status, 400);
      const notText = new Uint8Array([0x7b, 0xff, 0x7d]);
      assert.equal((await app.ask("POST", path, { body: notText, type })).status, 400);
      const plain = await app.ask("POST", path, { body: "{}", type: "text/plain" });
      assert.equal(plain.status, 415);
      assert.match(plain.json.detail, /send content-type application\/json/);
      const number = await app.ask("POST", path, { json: { identifier: 5 } });
      assert.equal(number.json.detail, "Cannot read the body: identifier wants a text, found 5");
      const long = await app.ask("POST", path, { json: { states: { a: [] }, steps: {} } });
      assert.match(long.json.detail, /^Cannot read the body: steps .*; states\.a wants/);
    }));
});

function streamOf(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + 1013));
      at += 1013;
    },
  });
}
