/** Numbers that tell how the engine does, passed in so that any collector can take them. @module */

/**
 * Names and values that tell series of one metric apart, such as the job.
 *
 * @example
 * ```ts
 * import type { MetricLabels } from "@tidemark/tidemark";
 *
 * const labels: MetricLabels = { job: "orders" };
 * console.assert(Object.keys(labels).length === 1);
 * ```
 */
export type MetricLabels = Readonly<Record<string, string>>;

/**
 * Counts up.
 *
 * @example
 * ```ts
 * import type { Counter } from "@tidemark/tidemark";
 *
 * let total = 0;
 * const counter: Counter = { add: (amount = 1) => void (total += amount) };
 * counter.add();
 * counter.add(4);
 * console.assert(total === 5);
 * ```
 */
export interface Counter {
  /**
   * Adds to it. Must not throw.
   *
   * @param amount 0 or more. @default 1
   */
  add(amount?: number): void;
}

/**
 * Counts how values are spread.
 *
 * @example
 * ```ts
 * import type { Histogram } from "@tidemark/tidemark";
 *
 * const values: number[] = [];
 * const histogram: Histogram = { record: (value) => void values.push(value) };
 * histogram.record(0.25);
 * console.assert(values[0] === 0.25);
 * ```
 */
export interface Histogram {
  /**
   * Takes one value in. Must not throw.
   *
   * @param value In the unit that the metric's name ends in.
   */
  record(value: number): void;
}

/**
 * A gauge, until it is removed.
 *
 * @example
 * ```ts
 * import type { Gauge } from "@tidemark/tidemark";
 *
 * const reads = new Set<() => number>();
 * function gauge(read: () => number): Gauge {
 *   reads.add(read);
 *   return { remove: () => void reads.delete(read) };
 * }
 * gauge(() => 42).remove();
 * console.assert(reads.size === 0);
 * ```
 */
export interface Gauge {
  /** Ends the series: what it read from is gone. */
  remove(): void;
}

/**
 * Makes metrics. Names are in snake case with their unit last, such as `upload_latency_seconds`;
 * asking twice for a name with the same labels gives the same series. `docs/METRICS.md` lists them.
 * Seed: `ChangelogStorageMetricGroup`.
 *
 * @example
 * ```ts
 * import { type Metrics, openStore } from "@tidemark/tidemark";
 *
 * const counts = new Map<string, number>();
 * const metrics: Metrics = {
 *   counter: (name) => ({ add: (amount = 1) => counts.set(name, (counts.get(name) ?? 0) + amount) }),
 *   histogram: () => ({ record() {} }),
 *   gauge: () => ({ remove() {} }),
 * };
 * await using store = await openStore("memory:", { metrics });
 * const totals = (await store.job("orders")).writer("totals");
 * totals.append(0, new Uint8Array([1]));
 * await totals.persist();
 * console.assert(counts.size > 0);
 * ```
 */
export interface Metrics {
  /**
   * Makes a counter.
   *
   * @param name Its name, in snake case, unit last.
   * @param help What it counts, in a few words.
   * @param labels Tell this series from others of the name.
   * @returns The counter.
   */
  counter(name: string, help: string, labels: MetricLabels): Counter;
  /**
   * Makes a histogram.
   *
   * @param name Its name, in snake case, unit last.
   * @param help What is recorded, in a few words.
   * @param bounds Upper bounds of the buckets, rising.
   * @param labels Tell this series from others of the name.
   * @returns The histogram.
   */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: MetricLabels,
  ): Histogram;
  /**
   * Makes a gauge.
   *
   * @param name Its name, in snake case, unit last.
   * @param help What it shows, in a few words.
   * @param read Asked for the value whenever somebody collects. Doesn't throw.
   * @param labels Tell this series from others of the name.
   * @returns What ends it.
   */
  gauge(name: string, help: string, read: () => number, labels: MetricLabels): Gauge;
}

/**
 * Counts nothing.
 *
 * @example
 * ```ts
 * import { NO_METRICS, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:", { metrics: NO_METRICS }); // as without it
 * console.assert(store.isNew);
 * ```
 */
export const NO_METRICS: Metrics = {
  counter: () => ({ add() {} }),
  histogram: () => ({ record() {} }),
  gauge: () => ({ remove() {} }),
};
