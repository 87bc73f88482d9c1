/** Metrics that a test looks at. @module */
import type {
  Counter,
  Gauge,
  Histogram,
  MetricLabels,
  Metrics,
} from "../../src/engine/port/metrics.ts";

/** Keeps every value, over all labels. */
export class CountingMetrics implements Metrics {
  readonly #counters = new Map<string, number>();
  readonly #histograms = new Map<string, number[]>();
  readonly #gauges = new Map<string, Set<() => number>>();

  counter(name: string, _help: string, _labels: MetricLabels): Counter {
    return {
      add: (amount = 1) => void this.#counters.set(name, this.count(name) + amount),
    };
  }

  histogram(
    name: string,
    _help: string,
    _bounds: readonly number[],
    _labels: MetricLabels,
  ): Histogram {
    const values = this.#histograms.get(name) ?? [];
    this.#histograms.set(name, values);
    return { record: (value) => void values.push(value) };
  }

  gauge(name: string, _help: string, read: () => number, _labels: MetricLabels): Gauge {
    const reads = this.#gauges.get(name) ?? new Set();
    this.#gauges.set(name, reads.add(read));
    return { remove: () => void reads.delete(read) };
  }

  /** What a counter has counted. */
  count(name: string): number {
    return this.#counters.get(name) ?? 0;
  }

  /** What a histogram has recorded. */
  values(name: string): readonly number[] {
    return this.#histograms.get(name) ?? [];
  }

  /** What a gauge says; undefined when it is gone. */
  gauged(name: string): number | undefined {
    const reads = [...this.#gauges.get(name) ?? []];
    return reads.length === 0 ? undefined : reads.reduce((sum, read) => sum + read(), 0);
  }
}
