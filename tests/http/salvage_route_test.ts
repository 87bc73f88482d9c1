import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createApp } from "../../src/http/mod.ts";
import { JOBS_PREFIX } from "../../src/engine/paths.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { newMemory } from "../engine/_engine.ts";
import { TestApp } from "./_app.ts";

const SALVAGE = "/v1/jobs/j/salvage";

/** Gives an app over a job `j` with a checkpoint and without a catalog to `use`. */
async function withLostCatalog(use: (app: TestApp) => Promise<void>): Promise<void> {
  const objects = newMemory();
  {
    await using store = await openStore(objects);
    const job = await store.job("j");
    job.writer("w").append(0, new TextEncoder().encode("one"));
    await job.checkpoint();
  }
  for await (const { key } of objects.list(`${JOBS_PREFIX}j/catalog/`)) await objects.delete(key);
  await using store = await openStore(objects);
  await use(new TestApp(store, createApp(store)));
}

describe("POST …/salvage", () => {
  test("answers the plan, carries it out when it is accepted, and the job opens", () =>
    withLostCatalog(async (app) => {
      const refused = await app.ask("GET", "/v1/jobs/j");
      assert.deepEqual([refused.status, refused.json.code], [500, "catalog-lost"]);
      assert.match(refused.json.nextStep, /salvage/);
      const plan = await app.ask("POST", SALVAGE);
      assert.deepEqual([plan.status, plan.json.isNeeded, plan.json.isDone], [200, true, false]);
      const body = { accept: plan.json.id };
      const looked = await app.ask("POST", SALVAGE, { json: { ...body, dryRun: true } });
      assert.equal(looked.json.isDone, false);
      const done = await app.ask("POST", SALVAGE, { json: body });
      assert.deepEqual([done.status, done.json.isDone, done.json.run], [200, true, 2]);
      const { json } = await app.ask("GET", "/v1/jobs/j");
      assert.deepEqual([json.head, json.checkpoints], [plan.json.head, 1]);
      const busy = await app.ask("POST", SALVAGE);
      assert.equal(busy.json.isNeeded, false);
    }));

  test("refuses a plan that is none, fields that it does not know, and a job that is not there", () =>
    withLostCatalog(async (app) => {
      const other = await app.ask("POST", SALVAGE, { json: { accept: "0000000000000000" } });
      assert.deepEqual([other.status, other.json.code], [409, "plan-changed"]);
      assert.equal((await app.ask("POST", SALVAGE, { json: { yes: true } })).status, 400);
      assert.equal((await app.ask("POST", `${SALVAGE}?a=1`)).status, 400);
      assert.equal((await app.ask("POST", "/v1/jobs/none/salvage")).status, 404);
    }));
});
