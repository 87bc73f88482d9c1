import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decode, encode } from "cborg";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { withJob } from "./_app.ts";

const CHANGES = "/v1/jobs/j/writers/w/changes";
const CBOR_SEQUENCE = "application/cbor-seq";
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const TWO = encodeChanges([{ keyGroup: 3, data: utf8("a") }, { keyGroup: -1, data: utf8("b") }]);
const TWO_LINES = '{"keyGroup":3,"data":"a"}\n{"keyGroup":-1,"data":"b"}\n';

describe("POST …/changes", () => {
  const bodies: [string, string, Uint8Array | string][] = [
    ["a CBOR sequence", CBOR_SEQUENCE, TWO.bytes],
    ["a CBOR array", "application/cbor", encode([[3, utf8("a")], [-1, utf8("b")]])],
    ["NDJSON", "application/x-ndjson; charset=utf-8", TWO_LINES],
  ];
  for (const [name, type, body] of bodies) {
    test(`takes ${name}, durable when it answers`, () =>
      withJob(async (app) => {
        const answer = await app.ask("POST", CHANGES, { body, type });
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual(answer.json, {
          offset: 0,
          nextOffset: 2,
          sequenceNumber: 0,
          ack: "durable",
        });
        const restored = await app.ask("GET", `${CHANGES}?at=tail`);
        assert.equal(restored.text.startsWith(TWO_LINES), true, restored.text);
      }));
  }

  test("answers before the disk where that is asked for", () =>
    withJob(async (app) => {
      const answer = await app.ask("POST", `${CHANGES}?ack=buffered`, {
        body: TWO.bytes,
        type: CBOR_SEQUENCE,
      });
      assert.equal(answer.json.ack, "buffered");
      const { json } = await app.ask("POST", "/v1/jobs/j/writers/w/persist");
      assert.equal(json.durableOffset, 2);
    }));

  test("takes an append at an offset once", () =>
    withJob(async (app) => {
      const lines = [{ data: "one" }, { data: "two" }];
      const first = await app.append(lines, { "tidemark-offset": "0" });
      const again = await app.append(lines, { "tidemark-offset": "0" });
      assert.deepEqual([again.status, again.json.nextOffset], [200, first.json.nextOffset]);
      const other = await app.append([{ data: "other" }], { "tidemark-offset": "0" });
      assert.deepEqual([other.status, other.json.code], [409, "offset-conflict"]);
      const ahead = await app.append([{ data: "three" }], { "tidemark-offset": "5" });
      assert.deepEqual([ahead.status, ahead.json.code], [409, "offset-mismatch"]);
      assert.equal(ahead.json.details.expectedOffset, 2);
    }));

  test("begins no writer when the first append to it is refused", () =>
    withJob(async (app) => {
      const ahead = await app.append([{ data: "one" }], { "tidemark-offset": "5" });
      assert.deepEqual([ahead.status, ahead.json.details.expectedOffset], [409, 0]);
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j")).json.writers, []);
      assert.equal((await app.append([{ data: "one" }], { "tidemark-offset": "0" })).status, 200);
    }));

  test("refuses a media type that it does not read, and names those that it does", () =>
    withJob(async (app) => {
      for (const type of ["text/plain", "application/jsonl", undefined]) {
        const answer = await app.ask("POST", CHANGES, { body: TWO.bytes, type });
        assert.equal(answer.status, 415);
        assert.match(answer.json.detail, /application\/cbor-seq/);
        assert.match(answer.headers.get("accept") ?? "", /application\/x-ndjson/);
      }
    }));

  const malformed: [string, string, string | Uint8Array][] = [
    ["NDJSON that is no JSON", "application/x-ndjson", '{"data":"ok"}\n{"data":\n'],
    ["a change that is no pair", CBOR_SEQUENCE, encode([1, 2, 3])],
    ["a CBOR sequence that is cut", CBOR_SEQUENCE, TWO.bytes.subarray(0, 5)],
    ["an array that is none", "application/cbor", encode("text")],
  ];
  for (const [name, type, body] of malformed) {
    test(`takes nothing of ${name}`, () =>
      withJob(async (app) => {
        const answer = await app.ask("POST", CHANGES, { body, type });
        assert.deepEqual([answer.status, answer.json.code], [400, "invalid-change"]);
        assert.deepEqual((await app.ask("GET", "/v1/jobs/j")).json.writers, []);
      }));
  }

  test("refuses headers and a query that it does not understand", () =>
    withJob(async (app) => {
      for (const offset of ["-1", "1.5", "x", "9007199254740992"]) {
        const answer = await app.append([{ data: "x" }], { "tidemark-offset": offset });
        assert.equal(answer.status, 400, offset);
      }
      const query = { body: TWO.bytes, type: CBOR_SEQUENCE };
      assert.equal((await app.ask("POST", `${CHANGES}?ack=soon`, query)).status, 400);
      assert.equal((await app.ask("POST", `${CHANGES}?akc=durable`, query)).status, 400);
      assert.equal(
        (await app.ask("POST", `${CHANGES}?ack=durable&ack=buffered`, query)).status,
        400,
      );
    }));

  test("takes a writer by its name however its path is spelled, first and later, among very many", () =>
    withJob(async (app) => {
      const append = (writer: string) =>
        app.ask("POST", `/v1/jobs/j/writers/${writer}/changes`, {
          body: TWO.bytes,
          type: CBOR_SEQUENCE,
        });
      for (const writer of ["w", "%77", "w", "%77"]) {
        assert.equal((await append(writer)).status, 200);
      }
      for (let i = 0; i < 1100; i++) {
        assert.equal((await app.ask("GET", `/v1/jobs/j/writers/other-${i}`)).status, 404);
      }
      for (const writer of ["%2577", "..%2fw"]) {
        for (const _ of [1, 2]) assert.equal((await append(writer)).status, 400, writer);
      }
      const { json } = await app.ask("GET", "/v1/jobs/j/writers");
      assert.deepEqual(json.writers.map(({ writer }: { writer: string }) => writer), ["w"]);
      assert.equal((await append("w")).json.nextOffset, 10);
    }));

  test("lets whoever holds a request send it again: its memory is not the app's", () =>
    withJob(async (app) => {
      const { bytes } = encodeChanges([{ keyGroup: 1, data: new Uint8Array(100_000) }]);
      const headers = { "content-type": CBOR_SEQUENCE, "content-length": `${bytes.length}` };
      const body = bytes as Uint8Array<ArrayBuffer>;
      const request = new Request(`http://127.0.0.1${CHANGES}`, { method: "POST", headers, body });
      const [again, atOnce] = [request.clone(), request.clone()];
      const answers = await Promise.all([app.app.fetch(request), app.app.fetch(atOnce)]);
      answers.push(await app.app.fetch(again));
      for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
      assert.equal(bytes.length, 100_007);
    }));

  test("creates no job", () =>
    withJob(async (app) => {
      const answer = await app.ask("POST", "/v1/jobs/nope/writers/w/changes", {
        body: TWO.bytes,
        type: CBOR_SEQUENCE,
      });
      assert.deepEqual([answer.status, answer.json.code], [404, "job-not-found"]);
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [{ job: "j" }] });
    }));
});

describe("POST …/persist", () => {
  test("waits until everything is durable", () =>
    withJob(async (app) => {
      await app.ask("POST", `${CHANGES}?ack=buffered`, { body: TWO.bytes, type: CBOR_SEQUENCE });
      const { status, json } = await app.ask("POST", "/v1/jobs/j/writers/w/persist");
      assert.equal(status, 200);
      assert.deepEqual([json.from, json.next, json.durableOffset], [0, 1, 2]);
      const from = await app.ask("POST", "/v1/jobs/j/writers/w/persist", { json: { from: 1 } });
      assert.equal(from.json.from, 1);
    }));

  test("begins no writer", () =>
    withJob(async (app) => {
      const answer = await app.ask("POST", "/v1/jobs/j/writers/nope/persist");
      assert.deepEqual([answer.status, answer.json.code], [404, "writer-not-found"]);
    }));
});

describe("GET …/changes", () => {
  test("answers NDJSON that ends in its trailer", () =>
    withJob(async (app) => {
      await app.ask("POST", CHANGES, { body: TWO.bytes, type: CBOR_SEQUENCE });
      await app.ask("POST", "/v1/jobs/j/checkpoints");
      const { status, headers, text } = await app.ask("GET", CHANGES);
      assert.equal(status, 200);
      assert.equal(headers.get("content-type"), "application/x-ndjson");
      const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(lines.slice(0, 2), [{ keyGroup: 3, data: "a" }, {
        keyGroup: -1,
        data: "b",
      }]);
      assert.deepEqual(Object.keys(lines[2]), ["end"]);
      assert.deepEqual([lines[2].end.count, lines[2].end.confirmed], [2, 2]);
      assert.match(lines[2].end.hash, /^[0-9a-f]{16}$/);
    }));

  test("answers the very bytes that were appended as a CBOR sequence, and a map that ends it", () =>
    withJob(async (app) => {
      await app.ask("POST", CHANGES, { body: TWO.bytes, type: CBOR_SEQUENCE });
      const { headers, bytes } = await app.ask("GET", `${CHANGES}?at=tail`, {
        headers: { accept: `${CBOR_SEQUENCE};q=0.9, text/html` },
      });
      assert.equal(headers.get("content-type"), CBOR_SEQUENCE);
      assert.deepEqual(bytes.subarray(0, TWO.bytes.length), TWO.bytes);
      const { end } = decode(bytes.subarray(TWO.bytes.length));
      assert.deepEqual([end.count, end.confirmed, typeof end.hash], [2, 2, "string"]);
    }));

  test("takes part of them", () =>
    withJob(async (app) => {
      const lines = [0, 1, 2, 3].map((n) => ({ keyGroup: n, data: `c${n}` }));
      await app.append(lines);
      const from = await app.ask("GET", `${CHANGES}?at=tail&from=2`);
      assert.match(
        from.text,
        /^\{"keyGroup":2,"data":"c2"\}\n\{"keyGroup":3,"data":"c3"\}\n\{"end"/,
      );
      const groups = await app.ask("GET", `${CHANGES}?at=tail&keyGroups=1-2`);
      assert.match(groups.text, /^\{"keyGroup":1,.*\n\{"keyGroup":2,.*\n\{"end":\{"count":2,/);
    }));

  test("answers 404 for what is not there, before anything is sent", () =>
    withJob(async (app) => {
      await app.append([{ data: "x" }]);
      const none = await app.ask("GET", CHANGES);
      assert.deepEqual([none.status, none.json.code], [404, "checkpoint-not-found"]);
      const writer = await app.ask("GET", "/v1/jobs/j/writers/nope/changes?at=tail");
      assert.deepEqual([writer.status, writer.json.code], [404, "writer-not-found"]);
    }));

  test("refuses a query and a type that it does not understand", () =>
    withJob(async (app) => {
      for (const query of ["at=now", "from=-1", "keyGroups=5-2", "keyGroups=a", "until=3"]) {
        assert.equal((await app.ask("GET", `${CHANGES}?${query}`)).status, 400, query);
      }
      const answer = await app.ask("GET", CHANGES, { headers: { accept: "text/html" } });
      assert.equal(answer.status, 406);
    }));
});
