/** How far a long work is, as one line for a person: bar, rate and time left. */
import { formatBytes, formatCount, formatSpan } from "./_format.ts";

/** How far a work is. */
export interface ProgressFacts {
  /** What is being done, such as `restoring j/w`. */
  readonly label: string;
  readonly done: number;
  /** Where it ends; left out where that is not known. */
  readonly total?: number;
  /** What is counted: `bytes`, or a noun. */
  readonly unit: string;
  /** Told besides, such as `1200 changes durable`. */
  readonly more?: string;
}

/** The rate is that of the last seconds: a pause or a faster disk shows soon. */
const RATE_WINDOW_MS = 10_000;
/** Before that a rate says nothing. */
const RATE_AFTER_MS = 500;
/** Widths of the bar, so that it does not change with every digit beside it. */
const BAR_CELLS = [30, 20, 10];
/** Of a terminal that does not tell its width, as one of no columns. */
const COLUMNS_DEFAULT = 80;

/** Draws the line, and keeps what the rate is made from. */
export class ProgressLine {
  readonly #cells: readonly [done: string, open: string];
  #label = "";
  #samples: { atMs: number; done: number }[] = [];

  /** @param isUnicode Whether the terminal shows more than ASCII. */
  constructor(isUnicode: boolean) {
    this.#cells = isUnicode ? ["█", "░"] : ["#", "-"];
  }

  /** The line, within one row of the terminal. */
  draw(facts: ProgressFacts | string, nowMs: number, columns: number): string {
    const width = (columns > 0 ? columns : COLUMNS_DEFAULT) - 1;
    if (typeof facts === "string") return facts.slice(0, width);
    const { label, total, unit, more } = facts;
    const done = total === undefined ? facts.done : Math.min(facts.done, total);
    const rate = this.#rate(label, done, nowMs);
    const amount = total === undefined
      ? amountOf(done, unit)
      : unit === "bytes"
      ? `${formatBytes(done)} of ${formatBytes(total)}`
      : `${done} of ${formatCount(total, unit)}`;
    const rest = total === undefined ? 0 : total - done;
    const left = rest > 0 && rate ? rest / rate * 1000 : undefined;
    const facets = [
      amount,
      ...(more === undefined ? [] : [more]),
      ...(rate === undefined ? [] : [`${rateOf(rate, unit)}/s`]),
      ...(left === undefined ? [] : [`${formatSpan(left)} left`]),
    ].join(", ");
    if (total === undefined) return `${label}  ${facets}`.slice(0, width);
    const share = total === 0 ? 1 : done / total;
    const percent = `${Math.floor(share * 100)}%`.padStart(4);
    const room = width - label.length - percent.length - facets.length - 6;
    const cells = BAR_CELLS.find((width) => width <= room);
    if (cells === undefined) return `${label} ${percent}  ${facets}`.slice(0, width);
    const full = Math.floor(share * cells);
    const [doneCell, openCell] = this.#cells;
    const bar = doneCell.repeat(full) + openCell.repeat(cells - full);
    return `${label} ${percent} [${bar}] ${facets}`;
  }

  /** Units per second; undefined while it is too early to tell. */
  #rate(label: string, done: number, nowMs: number): number | undefined {
    if (label !== this.#label || done < (this.#samples.at(-1)?.done ?? 0)) this.#samples = [];
    this.#label = label;
    this.#samples.push({ atMs: nowMs, done });
    while (this.#samples.length > 2 && nowMs - this.#samples[1].atMs >= RATE_WINDOW_MS) {
      this.#samples.shift();
    }
    const [first] = this.#samples;
    const spanMs = nowMs - first.atMs;
    return spanMs < RATE_AFTER_MS ? undefined : (done - first.done) / spanMs * 1000;
  }
}

function amountOf(count: number, unit: string): string {
  return unit === "bytes" ? formatBytes(count) : formatCount(count, unit);
}

function rateOf(rate: number, unit: string): string {
  return unit === "bytes" ? formatBytes(Math.round(rate)) : rate.toFixed(rate < 10 ? 1 : 0);
}
