import assert from "node:assert/strict";
import { decode } from "cborg";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type AskOptions, type TestApp, withJob } from "./_app.ts";

const CHANGES = "/v1/jobs/j/writers/w/changes";
const NDJSON = "application/x-ndjson";
const MIB = 1024 * 1024;

function gzipped(body: string | Uint8Array, type = NDJSON): AskOptions {
  return { body: gzipSync(body), type, headers: { "content-encoding": "gzip" } };
}

function restored(app: TestApp, accept: string) {
  return app.ask("GET", `${CHANGES}?at=tail`, { headers: { accept } });
}

describe("changes as JSON", () => {
  test("are taken as one array, and answered as one object", () =>
    withJob(async (app) => {
      const changes = [{ keyGroup: 3, data: "a=1\n" }, { keyGroup: -1, base64: "//8=" }];
      const json = [...changes, { data: "zero" }];
      const taken = await app.ask("POST", CHANGES, { json });
      assert.deepEqual([taken.status, taken.json?.nextOffset], [200, 3], taken.text);
      const { headers, json: all } = await restored(app, "application/json");
      assert.equal(headers.get("content-type"), "application/json");
      assert.deepEqual(all.changes, [...changes, { keyGroup: 0, data: "zero" }]);
      assert.deepEqual([all.end.count, all.end.confirmed], [3, 3]);
    }));

  test("are answered as one object also where there are none, or many pieces", () =>
    withJob(async (app) => {
      assert.equal((await app.append([])).status, 200);
      const none = await restored(app, "application/json");
      assert.deepEqual([none.json.changes, none.json.end.count], [[], 0]);
      const data = "x".repeat(300 * 1024);
      await app.append(Array.from({ length: 8 }, () => ({ data })));
      const many = await restored(app, "application/json");
      assert.deepEqual(many.json.changes, Array(8).fill({ keyGroup: 0, data }));
    }));
});

test("changes as CBOR are taken as one array, and answered as one map", () =>
  withJob(async (app) => {
    const data = "x".repeat(700 * 1024);
    await app.append([{ data: "a" }, { keyGroup: 5, data }, { data }]);
    const { headers, bytes } = await restored(app, "application/cbor");
    assert.equal(headers.get("content-type"), "application/cbor");
    const { changes, end } = decode(bytes);
    const text = new TextDecoder();
    const read = (changes as [number, Uint8Array][]).map(([group, raw]) => [
      group,
      text.decode(raw),
    ]);
    assert.deepEqual(read, [[0, "a"], [5, data], [0, data]]);
    assert.deepEqual([end.count, end.confirmed], [3, 3]);
  }));

test("what is only buffered is said to be losable", () =>
  withJob(async (app) => {
    const body = '{"data":"x"}\n';
    const buffered = await app.ask("POST", `${CHANGES}?ack=buffered`, { body, type: NDJSON });
    assert.deepEqual([buffered.json.ack, buffered.json.mayBeLost], ["buffered", true]);
    const durable = await app.ask("POST", CHANGES, { body, type: NDJSON });
    assert.deepEqual([durable.json.ack, "mayBeLost" in durable.json], ["durable", false]);
  }));

describe("bodies in gzip", () => {
  test("are taken wherever bodies are", () =>
    withJob(async (app) => {
      const lines = Array.from({ length: 5000 }, (_, n) => `{"data":"change ${n}"}\n`).join("");
      const taken = await app.ask("POST", CHANGES, gzipped(lines));
      assert.deepEqual([taken.status, taken.json?.nextOffset], [200, 5000], taken.text);
      const json = gzipped('{"metadata":{"line":7}}', "application/json");
      assert.equal((await app.ask("POST", "/v1/jobs/j/checkpoints", json)).status, 201);
      const bytes = new Uint8Array(3 * MIB).fill(7);
      const state = await app.ask(
        "POST",
        "/v1/jobs/j/states/big",
        gzipped(bytes, "application/octet-stream"),
      );
      assert.deepEqual([state.status, state.json?.size], [201, 3 * MIB], state.text);
    }));

  test("count as what they are decompressed, and are given up as soon as they are too large", () =>
    withJob(async (app) => {
      const bomb = gzipSync(new Uint8Array(64 * MIB), { level: 9 });
      let sent = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const piece = bomb.subarray(sent, sent + 1024);
          sent += piece.length;
          if (piece.length === 0) controller.close();
          else controller.enqueue(piece);
        },
      });
      const headers = { "content-encoding": "gzip" };
      const answer = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
      assert.deepEqual([answer.status, answer.json.details.bytesMax], [413, MIB]);
      assert.ok(sent < bomb.length / 2, `read ${sent} of ${bomb.length} bytes`);
      assert.equal((await app.append([{ data: "x" }])).status, 200);
    }, { bodyBytesMax: MIB, bodyBytesInFlightMax: 2 * MIB }));

  test("that are none, cut, or followed by something are refused whole", () =>
    withJob(async (app) => {
      const whole = gzipSync('{"data":"x"}\n');
      const bad = [
        new Uint8Array([1, 2, 3]),
        whole.subarray(0, -3),
        Buffer.concat([whole, whole.subarray(0, 5)]),
      ];
      for (const [index, body] of bad.entries()) {
        const headers = { "content-encoding": "gzip" };
        const answer = await app.ask("POST", CHANGES, { body, type: NDJSON, headers });
        assert.deepEqual([answer.status, answer.json?.code], [400, "invalid-request"], `${index}`);
        assert.match(answer.json.detail, /Cannot read the request body/);
      }
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j/writers")).json.writers, []);
    }));

  test("are the only encoding", () =>
    withJob(async (app) => {
      for (const encoding of ["br", "deflate", "gzip, gzip", "zip"]) {
        const headers = { "content-encoding": encoding };
        const answer = await app.ask("POST", CHANGES, { body: "x", type: NDJSON, headers });
        assert.deepEqual([answer.status, answer.headers.get("accept-encoding")], [
          415,
          "gzip, identity",
        ]);
      }
      const headers = { "content-encoding": "identity" };
      const plain = { body: '{"data":"x"}', type: NDJSON, headers };
      assert.equal((await app.ask("POST", CHANGES, plain)).status, 200);
    }));
});
