/**
 * The text format in which Prometheus and its like collect metrics.
 * Source: Prometheus "Exposition formats", text format 0.0.4.
 * @module
 */
import type { MetricLabels } from "../engine/port/metrics.ts";

/** What a metric is. */
export type MetricType = "counter" | "gauge" | "histogram";

/** Media type of the text. */
export const EXPOSITION_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Numbers as the format wants them. */
export function formatValue(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

/** Labels as `name="value"`, in order of name, separated by commas; empty when there are none. */
export function formatLabels(labels: MetricLabels): string {
  return Object.keys(labels).sort()
    .map((name) => `${name}="${escapeLabelValue(labels[name])}"`).join(",");
}

/** What stands before the samples of a metric. */
export function headLines(name: string, help: string, type: MetricType): string[] {
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`];
}

/** One sample. */
export function sampleLine(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${formatValue(value)}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabelValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
