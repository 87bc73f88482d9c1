import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp, type HttpAppOptions } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { TestApp } from "./_app.ts";

async function withLog(
  use: (app: TestApp, records: () => Record<string, unknown>[]) => Promise<void>,
  options: HttpAppOptions = { logRequests: true },
): Promise<void> {
  await using store = await openStore("memory:");
  const logger = new RecordingLogger();
  const app = createApp(store, { ...options, logger });
  await use(
    new TestApp(store, app),
    () => logger.records.filter(({ message }) => message === "request").map(({ fields }) => fields),
  );
}

test("every request is logged by its route and valid names, with status, time and bytes", () =>
  withLog(async (app, records) => {
    const created = await app.ask("PUT", "/v1/jobs/secret%7Bcode%7D");
    const made = await app.ask("PUT", "/v1/jobs/orders");
    const shown = await app.ask("GET", "/v1/jobs/orders/writers/totals");
    const missing = await app.ask("GET", "/secret%0A");
    const wrong = await app.ask("PATCH", "/v1/jobs/orders");
    await app.ask("HEAD", "/healthz");
    assert.equal((await app.ask("HEAD", "/docs")).status, 200);
    const told = records().map(({ ms, ...fields }) => {
      assert.equal(typeof ms === "number" && ms >= 0, true);
      return fields;
    });
    const length = ({ bytes }: { bytes: Uint8Array }) => bytes.length;
    const path = "/v1/jobs/:job";
    assert.deepEqual(told, [
      { method: "PUT", path, status: 400, bytes: length(created), code: created.json.code },
      { job: "orders", method: "PUT", path, status: 201, bytes: length(made) },
      {
        job: "orders",
        writer: "totals",
        method: "GET",
        path: `${path}/writers/:writer`,
        status: 404,
        bytes: length(shown),
        code: "writer-not-found",
      },
      { method: "GET", path: "none", status: 404, bytes: length(missing), code: missing.json.code },
      { method: "PATCH", path, status: 405, bytes: length(wrong), code: wrong.json.code },
      { method: "HEAD", path: "/healthz", status: 200, bytes: 0 },
      { method: "HEAD", path: "/docs", status: 200, bytes: 0 },
    ]);
    assert.equal(JSON.stringify(told).includes("secret"), false, "of a name that is none");
  }));

test("an answer that nobody reads to its end is logged as cut", () =>
  withLog(async (app, records) => {
    await app.ask("PUT", "/v1/jobs/j");
    const body = `{"data":"${"x".repeat(999)}"}\n`.repeat(4000);
    const changes = "/v1/jobs/j/writers/w/changes";
    await app.ask("POST", changes, { body, type: "application/x-ndjson" });
    const whole = await app.ask("GET", `${changes}?at=tail`);
    const cut = await app.send("GET", `${changes}?at=tail`);
    const reader = cut.body!.getReader();
    await reader.read();
    await reader.cancel();
    const [first, second] = records().filter(({ method }) => method === "GET");
    assert.deepEqual([first.bytes, first.isWhole], [whole.bytes.length, undefined]);
    assert.equal(second.isWhole, false);
    assert.equal(Number(second.bytes) < whole.bytes.length, true);
  }));

test("no request is logged unless that is asked for", () =>
  withLog(async (app, records) => {
    await app.ask("PUT", "/v1/jobs/j");
    assert.deepEqual(records(), []);
  }, {}));

test("what is answered before the routes is logged too", () =>
  withLog(async (app, records) => {
    const headers = { origin: "https://page.example", "access-control-request-method": "PUT" };
    assert.equal((await app.ask("OPTIONS", "/v1/jobs/secret", { headers })).status, 204);
    const [{ ms: _, ...told }] = records();
    const wanted = { method: "OPTIONS", path: "/v1/jobs/:job", status: 204, bytes: 0 };
    assert.deepEqual(told, wanted);
  }, { logRequests: true, corsOrigins: ["https://page.example"] }));

test("what goes wrong in between is an answer as any other", async () => {
  await using store = await openStore("memory:");
  const monotonicMs = () => {
    throw new Error("no time");
  };
  const logger = new RecordingLogger();
  const clock = { nowMs: () => 0, monotonicMs, schedule: () => ({ cancel() {} }) };
  const app = new TestApp(store, createApp(store, { logger, logRequests: true, clock }));
  const { status, json } = await app.ask("GET", "/healthz");
  assert.deepEqual([status, json.code], [500, "internal"]);
  assert.deepEqual(logger.records.map(({ message }) => message), ["request failed"]);
});

test("what fails is logged with the job and the writer that were asked for", async () => {
  await using store = await openStore("memory:");
  const logger = new RecordingLogger();
  const app = new TestApp(store, createApp(store, { logger, bodyBytesInFlightMax: 1 }));
  await store.job("orders");
  const changes = "/v1/jobs/orders/writers/totals/changes";
  const body = '{"data":"x"}\n';
  await app.ask("POST", changes, { body, type: "application/x-ndjson" });
  const [{ level, message, fields: { job, writer, code } }] = logger.records;
  assert.deepEqual(
    { level, message, job, writer, code },
    {
      level: "warning",
      message: "request failed",
      job: "orders",
      writer: "totals",
      code: "backpressure",
    },
  );
});
