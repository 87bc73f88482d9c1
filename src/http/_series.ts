/** Series of metrics: what they have counted, and how that is written. @module */
import type { Counter, Gauge, Histogram } from "../engine/port/metrics.ts";
import { formatLabels, sampleLine } from "./_exposition.ts";

/** A series of any type. */
export interface Series {
  /** Its samples. @param labels As {@link formatLabels} writes them. */
  lines(name: string, labels: string): string[];
}

/** Counts up. */
export class CounterSeries implements Counter, Series {
  #value = 0;

  add(amount = 1): void {
    if (!(amount >= 0)) {
      throw new RangeError(`Cannot add ${amount} to a counter: it only counts up`);
    }
    this.#value += amount;
  }

  lines(name: string, labels: string): string[] {
    return [sampleLine(name, labels, this.#value)];
  }
}

/** Counts values by the buckets they fall in. */
export class HistogramSeries implements Histogram, Series {
  readonly #bounds: readonly number[];
  /** Values of each bucket alone; the last holds what is above every bound. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  record(value: number): void {
    if (Number.isNaN(value)) throw new RangeError("Cannot record NaN in a histogram");
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]) bucket++;
    this.#counts[bucket] += 1;
    this.#sum += value;
  }

  lines(name: string, labels: string): string[] {
    const lines: string[] = [];
    let count = 0;
    this.#counts.forEach((own, bucket) => {
      count += own;
      const bound = bucket < this.#bounds.length ? String(this.#bounds[bucket]) : "+Inf";
      const le = formatLabels({ le: bound });
      lines.push(sampleLine(`${name}_bucket`, labels === "" ? le : `${labels},${le}`, count));
    });
    lines.push(sampleLine(`${name}_sum`, labels, this.#sum));
    lines.push(sampleLine(`${name}_count`, labels, count));
    return lines;
  }
}

/** Adds up what its sources say, such as those of a run that ends and of the one that begins. */
export class GaugeSeries implements Series {
  readonly #sources = new Set<{ readonly read: () => number }>();
  readonly #onEmpty: () => void;

  /** @param onEmpty Called when the last source was removed. */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  add(read: () => number): Gauge {
    const source = { read };
    this.#sources.add(source);
    return {
      remove: () => {
        if (this.#sources.delete(source) && this.#sources.size === 0) this.#onEmpty();
      },
    };
  }

  lines(name: string, labels: string): string[] {
    let sum = 0;
    for (const { read } of this.#sources) sum += read();
    return [sampleLine(name, labels, sum)];
  }
}
