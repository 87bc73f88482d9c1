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

/** What stands in the middle of several runs: each bar, and each row's figures, by themselves. An odd number of runs. */
export function medianResult(runs: readonly BenchResult[]): BenchResult {
  const [{ title, rows, bars }] = runs;
  return {
    title,
    rows: rows.map((_, i) => medianRow(runs.map((run) => run.rows[i]))),
    // A whole bar, so that its `met` is that of what was measured.
    bars: bars.map((_, i) => inTheMiddle(runs.map((run) => run.bars[i]), (bar) => bar.measured)),
  };
}

function medianRow(rows: readonly BenchRow[]): BenchRow {
  return Object.fromEntries(
    Object.entries(rows[0]).map(([column, first]) => [
      column,
      typeof first === "string" ? first : inTheMiddle(rows, (row) => row[column] as number)[column],
    ]),
  );
}

function inTheMiddle<Item>(items: readonly Item[], of: (item: Item) => number): Item {
  return [...items].sort((a, b) => of(a) - of(b))[items.length >> 1];
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
