import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { openStore } from "../../mod.ts";
import type { UploadGauges } from "../../src/engine/upload/upload_metrics.ts";
import { UploadMetrics } from "../../src/engine/upload/upload_metrics.ts";
import { PrometheusMetrics } from "../../src/http/metrics.ts";
import { observeProcess } from "../../src/runtime/process_metrics.ts";
import { ManualClock } from "../doubles/manual_clock.ts";

/** Some of them are shown only where there is a local copy. */
const GAUGES: Required<UploadGauges> = {
  queueTasks: () => 0,
  inFlightBytes: () => 0,
  attemptsInFlight: () => 0,
  trackedFiles: () => 0,
  discardQueueFiles: () => 0,
  localQueueBytes: () => 0,
};

/** Names of the labels of a metric, as one of its lines has them. */
function labelsOf(text: string, name: string): string {
  const line = new RegExp(`^${name}(?:_count)?(?:{(.*)})? \\S+$`, "m").exec(text);
  return [...(line?.[1] ?? "").matchAll(/(\w+)=/g)].map(([, label]) => `\`${label}\``).join(", ");
}

/** Every metric as a row of the table. */
async function rowsOfEngine(): Promise<string[][]> {
  const metrics = new PrometheusMetrics();
  await using store = await openStore("memory:", { metrics });
  // Sizes are shown as soon as there is a checkpoint.
  await (await store.job("orders")).checkpoint();
  const own = observeProcess(metrics, new ManualClock());
  const hide = new UploadMetrics(metrics, "orders").observe(GAUGES);
  const text = metrics.render();
  hide();
  own.close();
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
  );
  return [...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name, help]) => [
    `\`${name}\``,
    types.get(name)!,
    labelsOf(text, name),
    help,
  ]);
}

/** Cells of the tables below a heading of the page, their heads left out. */
async function tablesBelow(heading: string): Promise<string[][]> {
  const page = await readFile(new URL("../../docs/METRICS.md", import.meta.url), "utf8");
  const [, section] = page.split(`\n## ${heading}\n`);
  return [...section.split("\n## ")[0].matchAll(/\n\| -.*((?:\n\|.*)+)/g)]
    .flatMap(([, rows]) => rows.trim().split("\n"))
    .map((row) => row.slice(1, -1).split("|").map((cell) => cell.trim()));
}

test("docs/METRICS.md lists every metric with its type, labels and meaning", async () => {
  assert.deepEqual(await tablesBelow("Every metric"), await rowsOfEngine());
});

/** Every metric of the system that the upload system follows, without `Changelog`. */
const METRICS_THERE = [
  ...["numberOfUploadRequests", "numberOfUploadFailures", "uploadSizes", "uploadLatenciesNanos"],
  ...["attemptsPerUpload", "totalAttemptsPerUpload", "uploadBatchSizes", "uploadQueueSize"],
].map((name) => `\`Storage.${name}\``).concat(
  ["Materialization", "NonMaterialization"].flatMap((part) =>
    ["Full", "Inc"].map((size) => `\`StateBackend.last${size}SizeOf${part}\``)
  ),
  ["started", "completed", "failed", "lastDurationOf"].map((what) =>
    `\`Materialization.${what}Materialization\``
  ),
);

test("docs/METRICS.md says what became of every metric there was, and of those that were missing", async () => {
  const rows = await tablesBelow("Where they come from");
  const there = rows.map(([name]) => name).filter((name) => name.startsWith("`"));
  assert.deepEqual(there, METRICS_THERE);
  assert.equal(rows.length - there.length, 7);
  const names = new Set((await rowsOfEngine()).map(([name]) => name));
  for (const [name, here] of rows) {
    const named = [...here.matchAll(/`tidemark_\w+`/g)].map(([found]) => found);
    assert.notEqual(named.length, 0, name);
    for (const one of named) assert.ok(names.has(one), `${name}: there is no ${one}`);
  }
});
