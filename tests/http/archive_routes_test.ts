/** Whole jobs as archives over HTTP, by the client's calls and by hand. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callsTo } from "../../src/client/calls_to.ts";
import { gather, inPieces } from "../engine/_archive.ts";
import { withJob } from "./_app.ts";

const ARCHIVE = "/v1/jobs/j/archive";
const TAR = "application/x-tar";

describe("…/archive", () => {
  test("exports a job, and makes another of it", () =>
    withJob(async (app) => {
      await app.append([{ keyGroup: 0, data: "a" }, { keyGroup: 0, data: "b" }]);
      const { json: made } = await app.ask("POST", "/v1/jobs/j/checkpoints", { json: {} });
      await app.append([{ keyGroup: 0, data: "c" }]);
      const exported = await app.ask("GET", ARCHIVE);
      assert.deepEqual([exported.status, exported.headers.get("content-type")], [200, TAR]);
      assert.equal(exported.headers.get("content-disposition"), 'attachment; filename="j.tar"');
      const put = { body: exported.bytes, type: TAR };
      const imported = await app.ask("PUT", "/v1/jobs/copy/archive", put);
      assert.deepEqual([imported.status, imported.headers.get("location")], [201, "/v1/jobs/copy"]);
      const from = { store: app.store.id, job: "j" };
      assert.deepEqual([imported.json.from, imported.json.head], [from, made.uuid]);
      const [tail, copy] = await Promise.all(
        ["j", "copy"].map((job) => app.ask("GET", `/v1/jobs/${job}/writers/w/changes?at=tail`)),
      );
      assert.equal(copy.text.split('{"end"')[0], tail.text.split('{"end"')[0]);
      const again = await app.ask("PUT", "/v1/jobs/copy/archive", put);
      assert.deepEqual([again.status, again.json.code], [409, "job-exists"]);
    }));

  test("says before the first byte what is not there, and refuses what is no archive", () =>
    withJob(async (app) => {
      const none = await app.ask("GET", "/v1/jobs/none/archive");
      assert.deepEqual([none.status, none.json.code], [404, "job-not-found"]);
      const latest = await app.ask("GET", `${ARCHIVE}?at=latest`);
      assert.deepEqual([latest.status, latest.json.code], [404, "checkpoint-not-found"]);
      const { bytes } = await app.ask("GET", ARCHIVE);
      for (const body of [bytes.subarray(0, bytes.length - 1024), new Uint8Array(9)]) {
        const cut = await app.ask("PUT", "/v1/jobs/cut/archive", { body, type: TAR });
        assert.deepEqual([cut.status, cut.json.code], [400, "invalid-archive"]);
      }
      const json = await app.ask("PUT", "/v1/jobs/cut/archive", { json: {} });
      assert.equal(json.status, 415);
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [{ job: "j" }] });
    }));

  test("the client's calls carry it, and find one that was cut", () =>
    withJob(async (app) => {
      await app.append([{ keyGroup: 0, data: "a" }]);
      const calls = callsTo("http://127.0.0.1:7460", {
        fetch: (request) => app.app.fetch(request),
      });
      const bytes = await gather(calls.exportJob("j"));
      const imported = await calls.importJob("copy", inPieces(bytes, 1000));
      assert.equal(imported.job, "copy");
      const cutting = callsTo("http://127.0.0.1:7460", {
        fetch: () => Promise.resolve(new Response(bytes.slice(0, -512) as Uint8Array<ArrayBuffer>)),
      });
      await assert.rejects(gather(cutting.exportJob("j")), /did not come whole/);
    }));
});
