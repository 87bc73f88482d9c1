import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FORMAT_VERSION } from "../../src/engine/limits.ts";
import type { StoreStatus } from "../../src/engine/types.ts";
import { VERSION } from "../../src/engine/version.ts";
import { createApp } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { temporaryFolder } from "../runtime/temporary_folder.ts";
import { TestApp, withJob } from "./_app.ts";
import { storeWith } from "./_failing_store.ts";

describe("GET /v1/store", () => {
  test("says what the sidecar and its store are", () =>
    withJob(async (app) => {
      const { status, json } = await app.ask("GET", "/v1/store");
      assert.deepEqual([status, json.store, json.location], [200, app.store.id, "memory"]);
      assert.deepEqual([json.version, json.formatVersion], [VERSION, FORMAT_VERSION]);
      assert.deepEqual([json.jobs, json.isFull], [1, false]);
      assert.deepEqual(json.openJobs, [{ job: "j", epoch: 1, run: 1, isServing: true }]);
      assert.ok(Number.isInteger(json.uptimeMs) && json.uptimeMs >= 0);
    }));

  test("counts what is free and what is taken", async () => {
    await using folder = await temporaryFolder();
    await using store = await openStore(folder.path, { storeBytesMax: 64 * 1024 * 1024 });
    const app = new TestApp(store, createApp(store));
    const { json } = await app.ask("GET", "/v1/store");
    assert.ok(json.bytesFree > 0 && json.bytesTotal >= json.bytesFree);
    assert.ok(json.bytesUsed > 0 && json.bytesMax === 64 * 1024 * 1024);
  });
});

describe("GET /readyz", () => {
  const isFine: StoreStatus = { isFull: false, jobs: [] };
  const job = { job: "j", epoch: 1, run: 1 };

  /** What is wrong, and how it is called. */
  const wrong: [status: StoreStatus, problems: unknown[]][] = [
    [
      { ...isFine, problem: { code: "storage-denied", message: "Cannot write" } },
      [{ what: "store", code: "storage-denied", reason: "Cannot write" }],
    ],
    [
      { ...isFine, isFull: true },
      [{
        what: "room",
        code: "storage-full",
        reason: "Cannot write to store memory: it has no room",
      }],
    ],
    [
      { isFull: true, jobs: [], problem: { code: "storage-full", message: "No space" } },
      [{ what: "store", code: "storage-full", reason: "No space" }],
    ],
    [
      {
        ...isFine,
        jobs: [{ ...job, isServing: false, problem: { code: "fenced", message: "gone" } }],
      },
      [{ what: "job", job: "j", code: "fenced", reason: "gone" }],
    ],
  ];

  for (const [status, problems] of wrong) {
    test(`is 503 when ${JSON.stringify(problems)}`, async () => {
      const store = storeWith(() => Promise.reject(new Error("not asked")), status);
      const answer = await new TestApp(store, createApp(store)).ask("GET", "/readyz");
      assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "1"]);
      assert.deepEqual([answer.json.status, answer.json.problems], ["unavailable", problems]);
    });
  }

  test("is 200 when a job has ended without a problem", async () => {
    const status = { ...isFine, jobs: [{ ...job, isServing: false }] };
    const store = storeWith(() => Promise.reject(new Error("not asked")), status);
    const answer = await new TestApp(store, createApp(store)).ask("GET", "/readyz");
    assert.equal(answer.status, 200, answer.text);
  });

  test("tells strangers neither where the store is nor which jobs it has", async () => {
    const store = storeWith(() => Promise.reject(new Error("not asked")), wrong[3][0]);
    const app = new TestApp(store, createApp(store, { access: { grantOf: () => undefined } }));
    const { json } = await app.ask("GET", "/readyz");
    assert.deepEqual(json, {
      status: "unavailable",
      store: store.id,
      code: "fenced",
      problems: [{ what: "job", code: "fenced" }],
    });
  });
});
