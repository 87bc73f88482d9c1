/**
 * What the benches share: the shape of a result, interleaved rounds, statistics, tables.
 *
 * Speeds drift with the machine's load; ratios within one round do not. So every candidate is
 * visited in every round, in rotating order, and what counts is the median of per-round ratios.
 * @module
 */

/** One line of a bench's table: column names and what stands in them. */
export type BenchRow = Readonly<Record<string, string | number>>;

/** One bar: a figure that has to be reached. */
export interface BenchBar {
  readonly name: string;
  readonly wanted: number;
  readonly measured: number;
  readonly met: boolean;
}

/** What a bench gives back on one runtime. */
export interface BenchResult {
  readonly title: string;
  readonly rows: readonly BenchRow[];
  readonly bars: readonly BenchBar[];
}

/** How a bench is to run. */
export interface BenchOptions {
  /** Whether the bars will be held against the result. */
  readonly check: boolean;
  /** Tiny sizes, to see that the bench works; the figures mean nothing. @default false */
  readonly smoke?: boolean;
}

/** A bench module's entry. */
export type Bench = (options: BenchOptions) => Promise<BenchResult>;

/** One candidate of an interleaved measurement: does the round's work once. */
export type Candidate = (round: number) => void;

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("Cannot take the median of no values");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function geometricMean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("Cannot take the mean of no values");
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/**
 * Times each candidate once per round, in an order that rotates by one each round.
 *
 * @returns Milliseconds of each round, per candidate.
 */
export function interleavedRounds<Name extends string>(
  candidates: Readonly<Record<Name, Candidate>>,
  rounds: number,
): Record<Name, number[]> {
  const names = Object.keys(candidates) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length];
      const startMs = performance.now();
      candidates[name](round);
      times[name].push(performance.now() - startMs);
    }
  }
  return times;
}

/** How many times faster `times` is than `baseline`: the median of the per-round ratios. */
export function speedRatio(times: readonly number[], baseline: readonly number[]): number {
  return median(times.map((time, round) => baseline[round] / time));
}

/** A bar that wants at least this much. */
export function barAtLeast(name: string, wanted: number, measured: number): BenchBar {
  return { name, wanted, measured, met: measured >= wanted };
}

/** A bar that allows at most this much. */
export function barAtMost(name: string, wanted: number, measured: number): BenchBar {
  return { name, wanted, measured, met: measured <= wanted };
}

function cellText(value: string | number): string {
  if (typeof value === "string") return value;
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 3 : 0);
}

/** Rows as a Markdown table; columns in the order of the first row that has them. */
export function formatTable(rows: readonly BenchRow[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) =>
    columns.map((column) => column in row ? cellText(row[column]) : "–")
  );
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...cells.map((row) => row[index].length))
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, index) => cell.padEnd(widths[index])).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(columns), rule, ...cells.map(line)].join("\n");
}

/** A bench's result as text: the table, then each bar with `met` or `missed`. */
export function formatResult(result: BenchResult): string {
  const bars = result.bars.map((bar) =>
    `${bar.met ? "met   " : "missed"}  ${bar.name}: ` +
    `wanted ${cellText(bar.wanted)}, measured ${cellText(bar.measured)}`
  );
  return [`## ${result.title}`, "", formatTable(result.rows), "", ...bars].join("\n");
}
