/** Numbers that tell how the engine does, passed in so that any collector can take them. @module */

/** Names and values that tell series of one metric apart, such as the job. */
export type MetricLabels = Readonly<Record<string, string>>;

/** Counts up. */
export interface Counter {
  /** Adds `amount`. @default amount: 1 */
  add(amount?: number): void;
}

/** Counts how values are spread. */
export interface Histogram {
  /** Takes one value in. */
  record(value: number): void;
}

/** A gauge, until it is removed. */
export interface Gauge {
  /** Ends the series: what it read from is gone. */
  remove(): void;
}

/**
 * Makes metrics. Names are in snake case with their unit last, such as `upload_latency_seconds`;
 * asking twice for a name with the same labels gives the same series.
 */
export interface Metrics {
  counter(name: string, help: string, labels: MetricLabels): Counter;
  /** @param bounds Upper bounds of the buckets, rising. */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: MetricLabels,
  ): Histogram;
  /** @param read Asked for the value whenever somebody collects. */
  gauge(name: string, help: string, read: () => number, labels: MetricLabels): Gauge;
}

/** Counts nothing. */
export const NO_METRICS: Metrics = {
  counter: () => ({ add() {} }),
  histogram: () => ({ record() {} }),
  gauge: () => ({ remove() {} }),
};
