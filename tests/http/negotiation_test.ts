import assert from "node:assert/strict";
import { decode } from "cborg";
import { describe, test } from "node:test";
import { chooseMediaType } from "../../src/http/_negotiation.ts";
import { withJob } from "./_app.ts";

const AVAILABLE = ["application/x-ndjson", "application/cbor-seq", "text/plain"];

/** Accept, and which of the three a client gets. */
const CASES: readonly [accept: string | null, index: number | undefined][] = [
  [null, 0],
  ["", 0],
  ["*/*", 0],
  ["application/*", 0],
  ["text/*", 2],
  ["application/cbor-seq", 1],
  ["APPLICATION/CBOR-SEQ ; Q=0.3", 1],
  ["application/cbor-seq, application/x-ndjson", 1],
  ["application/cbor-seq;q=0.5, application/x-ndjson", 0],
  ["*/*;q=0.1, text/plain;q=0.2", 2],
  ["*/*, application/cbor-seq", 1],
  ["application/x-ndjson;q=0, */*", 1],
  ["application/*;q=0, */*;q=0.1", 2],
  ["text/plain;version=0.0.4;q=0.9, application/*;q=0.8", 2],
  ["image/png, text/html;q=0.9", undefined],
  ["application/x-ndjson;q=0", undefined],
  ["application/x-ndjson;q=loud", undefined],
  [",;,=", undefined],
];

describe("Accept", () => {
  for (const [accept, index] of CASES) {
    test(`${accept} gets ${index === undefined ? "nothing" : AVAILABLE[index]}`, () => {
      const wanted = index === undefined ? undefined : AVAILABLE[index];
      assert.equal(chooseMediaType(accept, AVAILABLE), wanted);
    });
  }

  test("of what a path can't answer in is refused before anything is done", () =>
    withJob(async (app) => {
      const headers = { accept: "text/html" };
      const answer = await app.ask("POST", "/v1/jobs/j/checkpoints", { headers });
      assert.deepEqual([answer.status, answer.json.code], [406, "invalid-request"]);
      assert.match(answer.json.detail, /accept application\/json or application\/cbor/);
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j/checkpoints")).json.checkpoints, []);
    }));

  test("of CBOR gets what JSON would say", () =>
    withJob(async (app) => {
      const json = { steps: "18446744073709551615", metadata: { at: [1.5, null, "x"] } };
      const headers = { accept: "application/cbor" };
      const made = await app.ask("POST", "/v1/jobs/j/checkpoints", { json, headers });
      assert.deepEqual([made.status, made.headers.get("content-type")], [201, "application/cbor"]);
      assert.ok(made.headers.get("location"));
      const path = "/v1/jobs/j/checkpoints/latest";
      const asCbor = decode((await app.ask("GET", path, { headers })).bytes);
      assert.deepEqual(asCbor, (await app.ask("GET", path)).json);
      assert.deepEqual(asCbor.metadata, json.metadata);
      const problem = await app.ask("GET", "/v1/jobs/none", { headers });
      assert.equal(problem.headers.get("content-type"), "application/problem+json");
    }));
});
