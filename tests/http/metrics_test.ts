import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PrometheusMetrics } from "../../src/http/mod.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { createApp } from "../../src/http/app.ts";
import { TestApp, withApp } from "./_app.ts";

const HELP = "Help";

describe("PrometheusMetrics", () => {
  test("writes counters, in order of name and of labels", () => {
    const metrics = new PrometheusMetrics();
    metrics.counter("b_total", "Of b", {}).add();
    metrics.counter("a_total", "Of a", { job: "z", cause: "size" }).add(3);
    metrics.counter("a_total", "Of a", { cause: "delay", job: "a" }).add(0.5);
    const text = [
      "# HELP a_total Of a",
      "# TYPE a_total counter",
      'a_total{cause="delay",job="a"} 0.5',
      'a_total{cause="size",job="z"} 3',
      "# HELP b_total Of b",
      "# TYPE b_total counter",
      "b_total 1",
      "",
    ];
    assert.equal(metrics.render(), text.join("\n"));
  });

  test("writes histograms with every bucket counted up, then sum and count", () => {
    const metrics = new PrometheusMetrics();
    const sizes = metrics.histogram("sizes_bytes", HELP, [1, 10.5], { job: "j" });
    const alone = metrics.histogram("waits_seconds", HELP, [1], {});
    for (const size of [0, 1, 10, 11]) sizes.record(size);
    alone.record(Infinity);
    const text = [
      "# HELP sizes_bytes Help",
      "# TYPE sizes_bytes histogram",
      'sizes_bytes_bucket{job="j",le="1"} 2',
      'sizes_bytes_bucket{job="j",le="10.5"} 3',
      'sizes_bytes_bucket{job="j",le="+Inf"} 4',
      'sizes_bytes_sum{job="j"} 22',
      'sizes_bytes_count{job="j"} 4',
      "# HELP waits_seconds Help",
      "# TYPE waits_seconds histogram",
      'waits_seconds_bucket{le="1"} 0',
      'waits_seconds_bucket{le="+Inf"} 1',
      "waits_seconds_sum +Inf",
      "waits_seconds_count 1",
      "",
    ];
    assert.equal(metrics.render(), text.join("\n"));
  });

  test("asks gauges when it writes, adds up their sources, and forgets removed ones", () => {
    const metrics = new PrometheusMetrics();
    let value = 1;
    const old = metrics.gauge("held_bytes", HELP, () => value, { job: "j" });
    const next = metrics.gauge("held_bytes", HELP, () => 10, { job: "j" });
    value = 2;
    assert.match(metrics.render(), /^held_bytes\{job="j"\} 12$/m);
    old.remove();
    old.remove();
    assert.match(metrics.render(), /^held_bytes\{job="j"\} 10$/m);
    next.remove();
    assert.equal(metrics.render(), "");
    metrics.gauge("held_bytes", HELP, () => -Infinity, { job: "j" });
    assert.match(metrics.render(), /^held_bytes\{job="j"\} -Inf$/m);
  });

  test("escapes label values and help", () => {
    const metrics = new PrometheusMetrics();
    metrics.counter("a_total", 'A\\B\n"C"', { job: 'a\\b\n"c"' }).add();
    assert.match(metrics.render(), /^# HELP a_total A\\\\B\\n"C"$/m);
    assert.match(metrics.render(), /^a_total\{job="a\\\\b\\n\\"c\\""\} 1$/m);
  });

  test("gives the same series for the same name and labels, in any order", () => {
    const metrics = new PrometheusMetrics();
    metrics.counter("a_total", HELP, { job: "j", cause: "size" }).add();
    metrics.counter("a_total", HELP, { cause: "size", job: "j" }).add();
    assert.match(metrics.render(), /^a_total\{cause="size",job="j"\} 2$/m);
    metrics.histogram("b", HELP, [1, 2], {}).record(1);
    metrics.histogram("b", HELP, [1, 2], {}).record(2);
    assert.match(metrics.render(), /^b_count 2$/m);
  });

  test("refuses a name with another type, help, labels or bounds", () => {
    const metrics = new PrometheusMetrics();
    metrics.counter("a", HELP, { job: "j" });
    metrics.histogram("b", HELP, [1, 2], {});
    const wrong = [
      () => metrics.gauge("a", HELP, () => 1, { job: "j" }),
      () => metrics.counter("a", "Other", { job: "j" }),
      () => metrics.counter("a", HELP, {}),
      () => metrics.histogram("b", HELP, [1, 3], {}),
    ];
    for (const make of wrong) assert.throws(make, { name: "TypeError", message: /already/ });
  });

  test("refuses names, labels, bounds and values that are none", () => {
    const metrics = new PrometheusMetrics();
    const histogram = metrics.histogram("h", HELP, [1], {});
    const wrong = [
      () => metrics.counter("a-b", HELP, {}),
      () => metrics.counter("a", HELP, { "job-id": "j" }),
      () => metrics.counter("a", HELP, { __job: "j" }),
      () => metrics.histogram("a", HELP, [1], { le: "1" }),
      () => metrics.histogram("a", HELP, [], {}),
      () => metrics.histogram("a", HELP, [2, 1], {}),
      () => metrics.histogram("a", HELP, [1, Infinity], {}),
      () => metrics.counter("c", HELP, {}).add(-1),
      () => metrics.counter("c", HELP, {}).add(NaN),
      () => histogram.record(NaN),
      () => new PrometheusMetrics({ seriesMax: 0 }),
    ];
    for (const make of wrong) assert.throws(make, RangeError, String(make));
  });

  test("counts what is beyond its bound together", () => {
    const metrics = new PrometheusMetrics({ seriesMax: 2 });
    for (const job of ["a", "b", "c", "d", "a"]) metrics.counter("n_total", HELP, { job }).add();
    const lines = metrics.render().split("\n").filter((line) => line.startsWith("n_total"));
    assert.deepEqual(lines, [
      'n_total{job="(other)"} 2',
      'n_total{job="a"} 2',
      'n_total{job="b"} 1',
    ]);
    const gauges = ["a", "b", "c", "d"].map((job) => metrics.gauge("g", HELP, () => 1, { job }));
    assert.match(metrics.render(), /^g\{job="\(other\)"\} 2$/m);
    for (const gauge of gauges) gauge.remove();
    assert.doesNotMatch(metrics.render(), /^g\{/m);
  });
});

describe("GET /metrics", () => {
  test("answers what the store counts, in the text format", async () => {
    const metrics = new PrometheusMetrics();
    await using store = await openStore("memory:", { metrics });
    const app = new TestApp(store, createApp(store, { metrics }));
    await app.ask("PUT", "/v1/jobs/j");
    await app.append([{ data: "one" }], { "tidemark-offset": "0" });
    const answer = await app.ask("GET", "/metrics");
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    assert.match(answer.text, /^tidemark_upload_requests_total\{job="j"\} 1$/m);
    assert.doesNotMatch(answer.text, /"w"/, "a writer's name is no label");
  });

  test("is not there when the app was made without a registry", () =>
    withApp(async (app) => {
      assert.equal((await app.ask("GET", "/metrics")).status, 404);
    }));
});
