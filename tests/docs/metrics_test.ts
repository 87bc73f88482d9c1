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
  await store.job("orders");
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

test("docs/METRICS.md lists every metric with its type, labels and meaning", async () => {
  const page = await readFile(new URL("../../docs/METRICS.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const listed = rows.map((row) => row.slice(1, -1).split("|").map((cell) => cell.trim()));
  assert.deepEqual(listed, await rowsOfEngine());
});
