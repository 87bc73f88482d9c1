/** Metrics that a test reads. @module */
import type { Counter, Gauge, Histogram, Metrics } from "../../src/engine/port/metrics.ts";

/** {@link Metrics} that keep every value, by name; labels only tell which series a gauge is. */
export class RecordingMetrics implements Metrics {
  readonly #counts = new Map<string, number>();
  readonly #values = new Map<string, number[]>();
  readonly #gauges = new Map<string, () => number>();

  counter(name: string): Counter {
    return {
      add: (amount = 1) => void this.#counts.set(name, this.count(name) + amount),
    };
  }

  histogram(name: string): Histogram {
    return { record: (value) => void this.#values.set(name, [...this.values(name), value]) };
  }

  gauge(name: string, _help: string, read: () => number): Gauge {
    this.#gauges.set(name, read);
    return {
      remove: () => {
        if (this.#gauges.get(name) === read) this.#gauges.delete(name);
      },
    };
  }

  /** What a counter stands at. */
  count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** What a histogram took in, in order. */
  values(name: string): readonly number[] {
    return this.#values.get(name) ?? [];
  }

  /** What a gauge shows; undefined when there is none. */
  gaugeValue(name: string): number | undefined {
    return this.#gauges.get(name)?.();
  }
}
