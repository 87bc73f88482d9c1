import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { withJob } from "./_app.ts";

describe("DELETE /v1/jobs/{job}", () => {
  test("deletes the job when its name is said twice, and the name is free again", () =>
    withJob(async (app) => {
      await app.append([{ data: "x" }]);
      await app.ask("POST", "/v1/jobs/j/checkpoints");
      const { status, json } = await app.ask("DELETE", "/v1/jobs/j?confirm=j");
      assert.deepEqual([status, json.job, json.checkpoints], [200, "j", 1]);
      assert.ok(json.deletedBytes > 0 && json.deletedObjects > 0);
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [] });
      const again = await app.ask("DELETE", "/v1/jobs/j?confirm=j");
      assert.deepEqual([again.status, again.json.code], [404, "job-not-found"]);
      const made = await app.ask("PUT", "/v1/jobs/j");
      assert.deepEqual([made.status, made.json.writers], [201, []]);
    }));

  test("wants that confirmation, and says how", () =>
    withJob(async (app) => {
      const missing = await app.ask("DELETE", "/v1/jobs/j");
      assert.equal(missing.status, 400);
      assert.match(missing.json.detail, /confirm is missing \(The job's name once more/);
      const other = await app.ask("DELETE", "/v1/jobs/j?confirm=k");
      assert.equal(other.status, 400);
      assert.match(other.json.detail, /send confirm=j to delete it/);
      const twice = await app.ask("DELETE", "/v1/jobs/j?confirm=j&confirm=j");
      assert.match(twice.json.detail, /confirm is there more than once/);
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [{ job: "j" }] });
    }));
});

describe("/v1/jobs/{job}/retention", () => {
  test("is shown, and set as a whole", () =>
    withJob(async (app) => {
      const path = "/v1/jobs/j/retention";
      assert.deepEqual((await app.ask("GET", path)).json, { minCount: 2 });
      const json = { minCount: 3, maxAgeMs: 1000 };
      assert.deepEqual((await app.ask("PUT", path, { json })).json, json);
      assert.deepEqual((await app.ask("PUT", path, { json: { minCount: 1 } })).json, {
        minCount: 1,
      });
      assert.deepEqual((await app.ask("GET", path)).json, { minCount: 1 });
    }));

  test("refuses what does not go together", () =>
    withJob(async (app) => {
      const path = "/v1/jobs/j/retention";
      for (const json of [{}, { minCount: 0 }, { minCount: 3, maxCount: 2 }, { maxCount: 2 }]) {
        const answer = await app.ask("PUT", path, { json });
        assert.deepEqual([answer.status, answer.json.code], [400, "invalid-request"], answer.text);
      }
      assert.deepEqual((await app.ask("GET", path)).json, { minCount: 2 });
    }));
});

describe("Idempotency-Key", () => {
  const path = "/v1/jobs/j/checkpoints";

  test("makes a checkpoint once, and answers it as often as it is asked for", () =>
    withJob(async (app) => {
      const json = { identifier: "noon", metadata: { line: 7 } };
      const headers = { "idempotency-key": "noon of 3 May" };
      const first = await app.ask("POST", path, { json, headers });
      const second = await app.ask("POST", path, { json, headers });
      assert.deepEqual([first.status, second.status], [201, 201], second.text);
      assert.deepEqual(second.json, first.json);
      assert.equal(first.json.idempotencyKey, "noon of 3 May");
      assert.equal((await app.ask("GET", path)).json.checkpoints.length, 1);
      const other = await app.ask("POST", path, { json: { identifier: "one" }, headers });
      assert.deepEqual([other.status, other.json.code], [409, "idempotency-conflict"]);
    }));

  test("is refused when it is none", () =>
    withJob(async (app) => {
      for (const key of ["", "x".repeat(129), "naïve"]) {
        const answer = await app.ask("POST", path, { headers: { "idempotency-key": key } });
        assert.deepEqual([answer.status, answer.json.code], [400, "invalid-request"], key);
      }
      assert.deepEqual((await app.ask("GET", path)).json.checkpoints, []);
    }));
});

describe("/v1/jobs/{job}/writers", () => {
  test("shows how writers stand", () =>
    withJob(async (app) => {
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j/writers")).json, { writers: [] });
      await app.append([{ data: "x" }]);
      const { json } = await app.ask("GET", "/v1/jobs/j/writers/w");
      assert.deepEqual([json.writer, json.nextOffset, json.durableOffset], ["w", 1, 1]);
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j/writers")).json, { writers: [json] });
      for (const [method, verb] of [["GET", ""], ["POST", "/roll"], ["POST", "/persist"]]) {
        const none = await app.ask(method, `/v1/jobs/j/writers/none${verb}`);
        assert.deepEqual([none.status, none.json.code], [404, "writer-not-found"]);
      }
    }));

  test("begins one with a range of key groups, and keeps it to that", () =>
    withJob(async (app) => {
      const json = { keyGroups: [0, 9] };
      const begun = await app.ask("PUT", "/v1/jobs/j/writers/w", { json });
      assert.deepEqual([begun.status, begun.json.keyGroups], [200, [0, 9]]);
      assert.equal((await app.ask("PUT", "/v1/jobs/j/writers/w", { json })).status, 200);
      const other = await app.ask("PUT", "/v1/jobs/j/writers/w", { json: { keyGroups: [0, 8] } });
      assert.deepEqual([other.status, other.json.code], [409, "settings-conflict"]);
      const outside = await app.append([{ keyGroup: 10, data: "x" }]);
      assert.deepEqual([outside.status, outside.json.code], [400, "invalid-request"]);
      assert.match(outside.json.detail, /10/);
      assert.equal((await app.append([{ keyGroup: 9, data: "x" }])).status, 200);
      const empty = await app.ask("PUT", "/v1/jobs/j/writers/v", { json: { keyGroups: [3, 2] } });
      assert.equal(empty.status, 400);
    }));

  test("gives up what was truncated with the next checkpoint", () =>
    withJob(async (app) => {
      await app.append([{ data: "old" }]);
      const { json: rolled } = await app.ask("POST", "/v1/jobs/j/writers/w/roll");
      await app.append([{ data: "new" }]);
      const truncate = (to: number) =>
        app.ask("POST", "/v1/jobs/j/writers/w/truncate", { json: { to } });
      const beyond = await truncate(rolled.sequenceNumber + 7);
      assert.deepEqual([beyond.status, beyond.json.code], [400, "invalid-request"]);
      const { status, json } = await truncate(rolled.sequenceNumber);
      assert.deepEqual([status, json.nextOffset], [200, 2]);
      await app.ask("POST", "/v1/jobs/j/checkpoints");
      const kept = await app.ask("GET", "/v1/jobs/j/writers/w/changes");
      assert.match(kept.text, /^\{"keyGroup":0,"data":"new"\}\n\{"end":/);
      const gone = await app.ask("GET", "/v1/jobs/j/writers/w/changes?from=0");
      assert.deepEqual([gone.status, gone.json?.code], [400, "truncated"], gone.text);
    }));

  test("refuses a sequence number to persist from that is not there yet", () =>
    withJob(async (app) => {
      await app.append([{ data: "x" }]);
      const answer = await app.ask("POST", "/v1/jobs/j/writers/w/persist", { json: { from: 99 } });
      assert.deepEqual([answer.status, answer.json.code], [400, "invalid-request"]);
    }));
});
