import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { withApp, withJob } from "./_app.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe("PUT /v1/jobs/{job}", () => {
  test("creates the job once, and answers how it stands", () =>
    withApp(async (app) => {
      const first = await app.ask("PUT", "/v1/jobs/orders", { json: { fingerprint: "42" } });
      assert.equal(first.status, 201);
      assert.equal(first.headers.get("location"), "/v1/jobs/orders");
      assert.equal(first.json.job, "orders");
      assert.equal(first.json.fingerprint, "42");
      assert.deepEqual([first.json.head, first.json.checkpoints, first.json.run], [null, 0, 1]);
      const again = await app.ask("PUT", "/v1/jobs/orders", { json: { fingerprint: "42" } });
      assert.equal(again.status, 200);
      assert.deepEqual(again.json, first.json);
    }));

  test("takes an empty body", () =>
    withApp(async (app) => {
      const answer = await app.ask("PUT", "/v1/jobs/orders");
      assert.equal(answer.status, 201);
      assert.equal(answer.json.fingerprint, "0");
    }));

  test("keeps a fingerprint of 64 bits whole", () =>
    withApp(async (app) => {
      const fingerprint = "18446744073709551615";
      const answer = await app.ask("PUT", "/v1/jobs/orders", { json: { fingerprint } });
      assert.equal(answer.json.fingerprint, fingerprint);
    }));

  test("refuses another fingerprint", () =>
    withApp(async (app) => {
      await app.ask("PUT", "/v1/jobs/orders", { json: { fingerprint: "1" } });
      const answer = await app.ask("PUT", "/v1/jobs/orders", { json: { fingerprint: "2" } });
      assert.equal(answer.status, 409);
      assert.equal(answer.json.code, "settings-conflict");
    }));

  const bad: [unknown, RegExp][] = [
    [{ fingerprint: "18446744073709551616" }, /fingerprint wants 0 to 2\^64 - 1/],
    [{ fingerprint: -1 }, /fingerprint wants 0 to 2\^64 - 1/],
    [{ fingerprint: 2 ** 53 }, /fingerprint/],
    [{ fingerprint: "ten" }, /fingerprint wants a decimal string/],
    [{ fingerprints: "1" }, /fingerprints is not known/],
    [[], /wants a JSON object/],
    [null, /wants a JSON object/],
  ];
  for (const [json, detail] of bad) {
    test(`refuses the body ${JSON.stringify(json)}`, () =>
      withApp(async (app) => {
        const answer = await app.ask("PUT", "/v1/jobs/orders", { json });
        assert.equal(answer.status, 400);
        assert.match(answer.json.detail, detail);
        assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [] });
      }));
  }

  test("refuses a name that is not allowed, and creates nothing", () =>
    withApp(async (app) => {
      for (const name of [".hidden", "a%2Fb", "x".repeat(129), "a%20b"]) {
        const answer = await app.ask("PUT", `/v1/jobs/${name}`);
        assert.equal(answer.status, 400, name);
        assert.equal(answer.json.code, "invalid-name");
      }
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [] });
    }));
});

describe("GET /v1/jobs", () => {
  test("lists the jobs", () =>
    withApp(async (app) => {
      await app.ask("PUT", "/v1/jobs/b");
      await app.ask("PUT", "/v1/jobs/a");
      const { json } = await app.ask("GET", "/v1/jobs");
      assert.deepEqual(json, { jobs: [{ job: "a" }, { job: "b" }] });
    }));

  test("shows one job with its writers, and no job that is not there", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }, { data: "two" }]);
      const { status, json } = await app.ask("GET", "/v1/jobs/j");
      assert.equal(status, 200);
      assert.equal(json.writers.length, 1);
      assert.equal(json.writers[0].writer, "w");
      assert.deepEqual([json.writers[0].nextOffset, json.writers[0].durableOffset], [2, 2]);
      const missing = await app.ask("GET", "/v1/jobs/nope");
      assert.deepEqual([missing.status, missing.json.code], [404, "job-not-found"]);
      assert.deepEqual((await app.ask("GET", "/v1/jobs")).json, { jobs: [{ job: "j" }] });
    }));
});

describe("checkpoints", () => {
  test("are made with all that is said of them, listed, and shown with their manifest", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }]);
      const made = await app.ask("POST", "/v1/jobs/j/checkpoints", {
        json: {
          identifier: "first",
          steps: "18446744073709551615",
          processedRecords: 7,
          metadata: { position: [1, "x"] },
        },
      });
      assert.equal(made.status, 201);
      assert.match(made.json.uuid, UUID);
      assert.equal(made.headers.get("location"), `/v1/jobs/j/checkpoints/${made.json.uuid}`);
      assert.equal(made.json.identifier, "first");
      assert.equal(made.json.steps, "18446744073709551615");
      assert.equal(made.json.processedRecords, "7");
      const listed = await app.ask("GET", "/v1/jobs/j/checkpoints");
      assert.deepEqual(listed.json, { checkpoints: [made.json] });
      for (const at of [made.json.uuid, made.json.uuid.toUpperCase(), "latest"]) {
        const shown = await app.ask("GET", `/v1/jobs/j/checkpoints/${at}`);
        assert.equal(shown.status, 200);
        assert.deepEqual(shown.json.metadata, { position: [1, "x"] });
        assert.equal(shown.json.writers[0].nextOffset, 1);
      }
    }));

  test("take an empty body", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }]);
      assert.equal((await app.ask("POST", "/v1/jobs/j/checkpoints")).status, 201);
    }));

  test("are made once under a key, although what they name is used up by then", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }]);
      const written = await app.ask("POST", "/v1/jobs/j/states/index", {
        body: "snapshot",
        type: "application/octet-stream",
      });
      const request = {
        json: { metadata: { line: 1 }, states: { index: { written: written.json.uuid } } },
        headers: { "idempotency-key": "line 1", "tidemark-run": "1" },
      };
      const made = await app.ask("POST", "/v1/jobs/j/checkpoints", request);
      const again = await app.ask("POST", "/v1/jobs/j/checkpoints", request);
      assert.deepEqual([made.status, again.status], [201, 201], again.text);
      assert.deepEqual(again.json, made.json);
      const other = await app.ask("POST", "/v1/jobs/j/checkpoints", {
        ...request,
        json: { metadata: { line: 2 } },
      });
      assert.deepEqual([other.status, other.json.code], [409, "idempotency-conflict"]);
      assert.equal((await app.ask("GET", "/v1/jobs/j/checkpoints")).json.checkpoints.length, 1);
    }));

  test("of a run that is over are fenced", () =>
    withJob(async (app) => {
      const resumed = await app.ask("POST", "/v1/jobs/j/resume");
      await app.append([{ data: "the new run's" }]);
      const asked = (run: number) =>
        app.ask("POST", "/v1/jobs/j/checkpoints", {
          json: { metadata: { run } },
          headers: { "tidemark-run": String(run) },
        });
      const late = await asked(resumed.json.run - 1);
      assert.deepEqual([late.status, late.json.code, late.json.outcome], [
        409,
        "fenced",
        "not-applied",
      ]);
      assert.equal((await asked(resumed.json.run)).status, 201);
    }));

  test("are not made of what is not understood", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }]);
      for (const json of [{ identifer: "typo" }, { steps: "1.5" }, { identifier: 3 }]) {
        const answer = await app.ask("POST", "/v1/jobs/j/checkpoints", { json });
        assert.equal(answer.status, 400, answer.text);
      }
      assert.deepEqual((await app.ask("GET", "/v1/jobs/j/checkpoints")).json, { checkpoints: [] });
    }));

  test("that do not exist are 404", () =>
    withJob(async (app) => {
      const uuid = "01a22a92-1ae8-748b-b347-2026a263a87f";
      const answer = await app.ask("GET", `/v1/jobs/j/checkpoints/${uuid}`);
      assert.deepEqual([answer.status, answer.json.code], [404, "checkpoint-not-found"]);
      assert.equal((await app.ask("GET", "/v1/jobs/j/checkpoints/newest")).status, 400);
    }));
});

describe("POST /v1/jobs/{job}/resume", () => {
  test("rewinds to the newest checkpoint, fences the older run, and says where to start", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }, { data: "two" }]);
      await app.ask("POST", "/v1/jobs/j/checkpoints", { json: { metadata: { line: 2 } } });
      await app.append([{ data: "three" }]);
      const { status, json } = await app.ask("POST", "/v1/jobs/j/resume");
      assert.equal(status, 200);
      assert.equal(json.run, 2);
      assert.deepEqual(json.checkpoint.metadata, { line: 2 });
      assert.deepEqual([json.writers[0].writer, json.writers[0].nextOffset], ["w", 2]);
      const old = await app.append([{ data: "x" }], {
        "tidemark-offset": "2",
        "tidemark-run": "1",
      });
      assert.deepEqual([old.status, old.json.code], [409, "fenced"]);
      const none = await app.append([{ data: "x" }], { "tidemark-offset": "2" });
      assert.deepEqual([none.status, none.json.code], [409, "run-required"]);
      const now = await app.append([{ data: "x" }], {
        "tidemark-offset": "2",
        "tidemark-run": "2",
      });
      assert.deepEqual([now.status, now.json.offset], [200, 2]);
    }));

  test("starts from nothing where there is no checkpoint", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }]);
      const { json } = await app.ask("POST", "/v1/jobs/j/resume", { json: { at: "latest" } });
      assert.equal(json.checkpoint, null);
      assert.equal((await app.append([{ data: "again" }])).json.offset, 0);
    }));

  test("keeps everything for the tail", () =>
    withJob(async (app) => {
      await app.append([{ data: "one" }, { data: "two" }]);
      const { json } = await app.ask("POST", "/v1/jobs/j/resume", { json: { at: "tail" } });
      assert.equal(json.writers[0].nextOffset, 2);
    }));

  test("refuses what it does not know", () =>
    withJob(async (app) => {
      const uuid = "01a22a92-1ae8-748b-b347-2026a263a87f";
      const missing = await app.ask("POST", "/v1/jobs/j/resume", { json: { at: uuid } });
      assert.deepEqual([missing.status, missing.json.code], [404, "checkpoint-not-found"]);
      const wrong = await app.ask("POST", "/v1/jobs/j/resume", { json: { at: "newest" } });
      assert.equal(wrong.status, 400);
    }));
});
