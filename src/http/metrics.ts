/**
 * Metrics of a process, for whoever collects them over HTTP.
 *
 * Owns: names, series and their bounds, the text. Does not own: what is counted.
 * @module
 */
import type { Counter, Gauge, Histogram, MetricLabels, Metrics } from "../engine/port/metrics.ts";
import { formatLabels, headLines, type MetricType } from "./_exposition.ts";
import { CounterSeries, GaugeSeries, HistogramSeries, type Series } from "./_series.ts";

/** Value of every label of the series that takes what is beyond the bound. */
const OTHER = "(other)";
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * Options of {@link PrometheusMetrics}.
 *
 * @example
 * ```ts
 * import { PrometheusMetrics, type PrometheusMetricsOptions } from "@tidemark/tidemark/http";
 *
 * const options: PrometheusMetricsOptions = { seriesMax: 1 };
 * const metrics = new PrometheusMetrics(options);
 * for (const job of ["a", "b", "c"]) metrics.counter("appends_total", "Appends", { job }).add();
 * console.assert(metrics.render().includes('appends_total{job="(other)"} 2'));
 * ```
 */
export interface PrometheusMetricsOptions {
  /** Series that one metric has at most; further ones are counted together, as `(other)`. @default 1000 */
  seriesMax?: number;
}

interface Family {
  readonly help: string;
  readonly type: MetricType;
  readonly labelNames: string;
  /** Bounds of a histogram's buckets. */
  readonly bounds: readonly number[];
  /** By their labels as text. */
  readonly series: Map<string, Series>;
}

/**
 * Keeps metrics and writes them in the text format of Prometheus, version 0.0.4.
 *
 * The same name and labels are the same series. A gauge that has several sources at once is their sum. Everything is
 * written in order of name, then of labels.
 *
 * @example
 * ```ts
 * import { PrometheusMetrics } from "@tidemark/tidemark/http";
 *
 * const metrics = new PrometheusMetrics();
 * metrics.counter("appends_total", "Appends", { job: "orders" }).add(2);
 * console.assert(metrics.render().includes('appends_total{job="orders"} 2'));
 * ```
 */
export class PrometheusMetrics implements Metrics {
  readonly #seriesMax: number;
  readonly #families = new Map<string, Family>();

  /**
   * Begins with no metric.
   *
   * @param options How many series are kept. @default {}
   * @throws {RangeError} `seriesMax` is no whole number from 1 on.
   */
  constructor(options: PrometheusMetricsOptions = {}) {
    const { seriesMax = 1000 } = options;
    if (!Number.isSafeInteger(seriesMax) || seriesMax < 1) {
      throw new RangeError(`Cannot keep ${seriesMax} series: wants a whole number from 1 on`);
    }
    this.#seriesMax = seriesMax;
  }

  /**
   * Makes a counter, or gives the one that is there.
   *
   * @param name Letters, digits and `_`; ends in `_total` by custom.
   * @param help What it counts, in a few words.
   * @param labels Tell this series from others of the name.
   * @returns The counter.
   * @throws {RangeError} A name that is not allowed.
   * @throws {TypeError} The name is there with another type, help or labels.
   */
  counter(name: string, help: string, labels: MetricLabels): Counter {
    const family = this.#family(name, labels, { help, type: "counter", bounds: [] });
    return this.#series(family, labels, () => new CounterSeries());
  }

  /**
   * Makes a histogram, or gives the one that is there.
   *
   * @param name Letters, digits and `_`; ends in its unit.
   * @param help What is recorded, in a few words.
   * @param bounds Upper bounds of the buckets: finite, rising.
   * @param labels Tell this series from others of the name.
   * @returns The histogram.
   * @throws {RangeError} Bounds or names that are not allowed.
   * @throws {TypeError} The name is there with another type, help, bounds or labels.
   */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: MetricLabels,
  ): Histogram {
    const isRising = bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]);
    if (bounds.length === 0 || !isRising || !bounds.every(Number.isFinite)) {
      throw new RangeError(
        `Cannot make metric ${name} with the bounds ${bounds}: wants finite numbers that rise`,
      );
    }
    const family = this.#family(name, labels, { help, type: "histogram", bounds });
    return this.#series(family, labels, () => new HistogramSeries(family.bounds));
  }

  /**
   * Makes a gauge. Several at once of one name with the same labels are shown as their sum.
   *
   * @param name Letters, digits and `_`; ends in its unit.
   * @param help What it shows, in a few words.
   * @param read Asked for the value by {@link PrometheusMetrics.render}.
   * @param labels Tell this series from others of the name.
   * @returns What ends it.
   * @throws {RangeError} A name that is not allowed.
   * @throws {TypeError} The name is there with another type, help or labels.
   */
  gauge(name: string, help: string, read: () => number, labels: MetricLabels): Gauge {
    const family = this.#family(name, labels, { help, type: "gauge", bounds: [] });
    const series = this.#series(
      family,
      labels,
      (key) => new GaugeSeries(() => void family.series.delete(key)),
    );
    return series.add(read);
  }

  /**
   * Writes all metrics.
   *
   * @returns The text; `""` when there are none.
   */
  render(): string {
    const lines: string[] = [];
    for (const name of [...this.#families.keys()].sort()) {
      const { help, type, series } = this.#families.get(name)!;
      if (series.size === 0) continue;
      lines.push(...headLines(name, help, type));
      for (const labels of [...series.keys()].sort()) {
        lines.push(...series.get(labels)!.lines(name, labels));
      }
    }
    return lines.map((line) => `${line}\n`).join("");
  }

  #family(
    name: string,
    labels: MetricLabels,
    wanted: Pick<Family, "help" | "type" | "bounds">,
  ): Family {
    const labelNames = Object.keys(labels).sort().join();
    const found = this.#families.get(name);
    if (found !== undefined) {
      checkSame(name, found, { ...wanted, labelNames });
      return found;
    }
    checkNames(name, labels, wanted.type);
    const family = { ...wanted, bounds: [...wanted.bounds], labelNames, series: new Map() };
    this.#families.set(name, family);
    return family;
  }

  /** The series with these labels, or the one for all that are beyond the bound. */
  #series<Kind extends Series>(
    family: Family,
    labels: MetricLabels,
    create: (key: string) => Kind,
  ): Kind {
    let key = formatLabels(labels);
    if (!family.series.has(key) && family.series.size >= this.#seriesMax) {
      const names = Object.keys(labels);
      key = formatLabels(Object.fromEntries(names.map((label) => [label, OTHER])));
    }
    const found = family.series.get(key);
    // A family has series of one kind.
    if (found !== undefined) return found as Kind;
    const series = create(key);
    family.series.set(key, series);
    return series;
  }
}

function checkSame(
  name: string,
  found: Family,
  wanted: Pick<Family, "help" | "type" | "bounds" | "labelNames">,
): void {
  const told = ({ type, help, bounds, labelNames }: typeof wanted) =>
    `a ${type} "${help}" with labels ${labelNames || "(none)"} and bounds ${
      bounds.join() || "(none)"
    }`;
  if (told(found) === told(wanted)) return;
  throw new TypeError(`Cannot make metric ${name} ${told(wanted)}: it is ${told(found)} already`);
}

function checkNames(name: string, labels: MetricLabels, type: MetricType): void {
  if (!NAME.test(name)) {
    throw new RangeError(`Cannot make a metric named ${JSON.stringify(name)}: wants ${NAME}`);
  }
  for (const label of Object.keys(labels)) {
    if (LABEL_NAME.test(label) && !(type === "histogram" && label === "le")) continue;
    throw new RangeError(`Cannot make metric ${name} with the label ${JSON.stringify(label)}`);
  }
}
