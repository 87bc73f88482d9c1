import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../mod.ts";
import { createApp } from "../../src/http/mod.ts";

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
