import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { withJob } from "./_app.ts";

const STATE = { body: "snapshot", type: "application/octet-stream" };

test("a HEAD of a restore answers its headers, and holds nothing", async () => {
  await using store = await openStore("memory:", { persistDelayMs: 0 });
  const job = await store.job("orders");
  job.writer("totals").append(0, new Uint8Array([1]));
  const { uuid } = await job.checkpoint();
  const path = `http://localhost/v1/jobs/orders/writers/totals/changes?at=${uuid}`;
  const response = await createApp(store).fetch(new Request(path, { method: "HEAD" }));
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type")!, /ndjson|cbor/);
  const restore = job.restore({ at: uuid });
  await restore[Symbol.asyncIterator]().return?.();
  for (let i = 0; i < 2; i++) await job.checkpoint();
  assert.deepEqual((await job.collect({ quarantineMs: 0 })).removed, [uuid]);
});

test("a HEAD of whatever streams leaves room for others, and no timer", () => {
  const clock = new ManualClock();
  return withJob(async (app) => {
    await app.append([{ data: "x" }]);
    const written = (await app.ask("POST", "/v1/jobs/j/states/index", STATE)).json.uuid;
    const states = { index: { written } };
    await app.ask("POST", "/v1/jobs/j/checkpoints", { json: { states } });
    const streams = ["writers/w/changes", "checkpoints/latest/states/index", "archive"];
    for (const path of streams) {
      for (const method of ["HEAD", "HEAD", "GET"]) {
        const { status, headers } = await app.ask(method, `/v1/jobs/j/${path}`);
        assert.deepEqual([path, method, status], [path, method, 200]);
        assert.notEqual(headers.get("content-type"), null);
      }
    }
    // What watches bodies ends at its next look.
    await clock.advance(30_000);
    assert.equal(clock.pendingCount, 0);
  }, { streamsMax: 1, clock });
});
