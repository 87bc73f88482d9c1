/**
 * What benches report of several runtimes together, and where it stands in the README.
 * @module
 */
import { type BenchResult, type BenchRow, formatTable } from "./_bench.ts";

/** The result of one bench on one runtime. */
export interface RuntimeResult {
  /** With its version, as a table's heading. */
  readonly runtime: string;
  readonly result: BenchResult;
}

function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

/** One row per bar: what is wanted, and what each runtime reached. */
export function barsTable(results: readonly RuntimeResult[]): string {
  const rows = new Map<string, Record<string, string>>();
  for (const { runtime, result } of results) {
    for (const bar of result.bars) {
      const row = rows.get(bar.name) ?? { bar: bar.name, wanted: shortNumber(bar.wanted) };
      row[runtime] = `${shortNumber(bar.measured)}${bar.met ? "" : " (missed)"}`;
      rows.set(bar.name, row);
    }
  }
  return formatTable([...rows.values()] satisfies BenchRow[]);
}

/** Puts a new text between the markers of a bench, and leaves all else. */
export function replaceMarked(page: string, name: string, content: string): string {
  const open = `<!-- bench:${name} -->`;
  const close = `<!-- /bench:${name} -->`;
  const start = page.indexOf(open);
  const end = page.indexOf(close);
  if (start < 0 || end < start) {
    throw new Error(
      `Cannot update the table of bench ${name}: the page needs the lines ${open} and ${close}`,
    );
  }
  return `${page.slice(0, start + open.length)}\n\n${content}\n\n${page.slice(end)}`;
}
