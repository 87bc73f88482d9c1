import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callsTo } from "../../src/client/calls_to.ts";
import { serveHttp } from "../../src/runtime/http_server.ts";
import { type TestApp, withJob } from "./_app.ts";

const STATES = "/v1/jobs/j/states";
const CHECKPOINTS = "/v1/jobs/j/checkpoints";
const BYTES = "application/octet-stream";

function write(app: TestApp, name: string, body: string) {
  return app.ask("POST", `${STATES}/${name}`, { body, type: BYTES });
}

function piecesOf(...pieces: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
}

async function* cut(content: string, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += length) {
    yield await Promise.resolve(new TextEncoder().encode(content.slice(at, at + length)));
  }
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const piece of content) text += new TextDecoder().decode(piece, { stream: true });
  return text;
}

describe("POST …/states/{state}", () => {
  test("writes a state that a checkpoint names, and others share", () =>
    withJob(async (app) => {
      const body = piecesOf("high ", "water");
      const written = await app.ask("POST", `${STATES}/totals`, { body, type: BYTES });
      assert.deepEqual([written.status, written.json.name, written.json.size], [201, "totals", 10]);
      const states = { totals: { written: written.json.uuid } };
      const { json: one } = await app.ask("POST", CHECKPOINTS, { json: { states } });
      const shared = { totals: { from: "latest" } };
      const { status } = await app.ask("POST", CHECKPOINTS, { json: { states: shared } });
      assert.equal(status, 201);
      for (const at of [one.uuid, "latest"]) {
        const read = await app.ask("GET", `${CHECKPOINTS}/${at}/states/totals`);
        assert.deepEqual([read.status, read.text], [200, "high water"]);
        assert.equal(read.headers.get("content-length"), "10");
        assert.equal(read.headers.get("etag"), `"${written.json.xxh64}"`);
        assert.equal(read.headers.get("content-type"), BYTES);
        const shown = await app.ask("GET", `${CHECKPOINTS}/${at}`);
        assert.deepEqual(shown.json.states, [written.json]);
      }
    }));

  test("keeps states of any name that is allowed", () =>
    withJob(async (app) => {
      const states: Record<string, unknown> = Object.create(null);
      for (const name of ["constructor", "prototype", "__proto__"]) {
        states[name] = { written: (await write(app, name, name)).json.uuid };
      }
      const { status, text } = await app.ask("POST", CHECKPOINTS, { json: { states } });
      assert.equal(status, 201, text);
      for (const name of Object.keys(states)) {
        const read = await app.ask("GET", `${CHECKPOINTS}/latest/states/${name}`);
        assert.deepEqual([read.status, read.text], [200, name]);
      }
    }));

  test("takes an empty body, and no other type", () =>
    withJob(async (app) => {
      const { json } = await write(app, "empty", "");
      await app.ask("POST", CHECKPOINTS, { json: { states: { empty: { written: json.uuid } } } });
      assert.equal((await app.ask("GET", `${CHECKPOINTS}/latest/states/empty`)).bytes.length, 0);
      const typed = { body: "{}", type: "application/json" };
      assert.equal((await app.ask("POST", `${STATES}/a`, typed)).status, 415);
      assert.equal((await write(app, ".hidden", "x")).status, 400);
    }));

  test("writes nothing that counts when the body is cut", () =>
    withJob(async (app) => {
      let isCut = false;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (isCut) controller.error(new Error("gone"));
          else controller.enqueue(new Uint8Array(10));
          isCut = true;
        },
      });
      const cut = await app.ask("POST", `${STATES}/a`, { body, type: BYTES });
      assert.equal(cut.status, 400);
      const short = { "content-length": "11" };
      const stated = { body: piecesOf("ten bytes!"), type: BYTES, headers: short };
      assert.equal((await app.ask("POST", `${STATES}/a`, stated)).status, 400);
      await app.ask("POST", "/v1/jobs/j/gc", { json: { quarantineMs: 0 } });
      const { json } = await app.ask("GET", "/v1/jobs/j/usage");
      assert.equal(json.kinds.states, undefined);
    }));
});

describe("states of a checkpoint over HTTP", () => {
  test("must be there", () =>
    withJob(async (app) => {
      const nobody = "01a22a92-1ae8-748b-b347-2026a263a87f";
      const refused = [
        [{ a: { written: nobody } }, 404, "state-not-found"],
        [{ a: { from: nobody } }, 404, "checkpoint-not-found"],
        [{ a: { from: nobody, written: nobody } }, 400, "invalid-request"],
        [{ a: "text" }, 400, "invalid-request"],
        [{ a: { written: "text" } }, 400, "invalid-request"],
      ] as const;
      for (const [states, status, code] of refused) {
        const { json, status: found } = await app.ask("POST", CHECKPOINTS, { json: { states } });
        assert.deepEqual([found, json.code], [status, code], JSON.stringify(states));
      }
      await app.ask("POST", CHECKPOINTS);
      const missing = await app.ask("GET", `${CHECKPOINTS}/latest/states/a`);
      assert.deepEqual([missing.status, missing.json.code], [404, "state-not-found"]);
    }));

  test("go and come whole between processes", () =>
    withJob(async (app) => {
      const server = await serveHttp((request) => app.app.fetch(request), {
        hostname: "127.0.0.1",
        port: 0,
      });
      try {
        const client = callsTo(server.url);
        const content = "spring tide, neap tide; ".repeat(40_000);
        const { uuid } = await client.checkpoint("j", {
          states: { large: cut(content, 100_000), small: new Uint8Array([65]) },
        });
        assert.equal(await textOf(client.readState("j", "large", uuid)), content);
        await client.checkpoint("j", { states: { small: { from: uuid } } });
        assert.equal(await textOf(client.readState("j", "small", "latest")), "A");
      } finally {
        await server.close(5000);
      }
    }));
});
