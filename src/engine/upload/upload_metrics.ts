/**
 * What the upload system counts. Names end in their unit; every one carries the job.
 * Source: the metrics of Flink's changelog storage, and those that it lacks.
 * @module
 */
import { KIB, MIB } from "../limits.ts";
import type { Counter, Histogram, MetricLabels, Metrics } from "../port/metrics.ts";

const SECONDS = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const BYTES = [256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB];
const COUNTS = [1, 2, 3, 5, 10, 30, 100, 300, 1000, 3000, 10000];
const ATTEMPTS = [1, 2, 3, 4, 5, 7, 10];

/**
 * What gauges read; those that are left out are not shown.
 *
 * @example
 * ```ts
 * import { NO_METRICS, type UploadGauges, UploadMetrics } from "@tidemark/tidemark";
 *
 * const queue: string[] = [];
 * const gauges: UploadGauges = { queueTasks: () => queue.length };
 * const hide = new UploadMetrics(NO_METRICS, "orders").observe(gauges);
 * hide();
 * ```
 */
export interface UploadGauges {
  /** Tasks that wait for the delay or the threshold. */
  readonly queueTasks?: () => number;
  /** Bytes that are not durable yet: active, waiting, failed and in flight. */
  readonly inFlightBytes?: () => number;
  /** Attempts that run, hung ones included. */
  readonly attemptsInFlight?: () => number;
  /** Change files that are counted, since something that no published checkpoint owns needs them. */
  readonly trackedFiles?: () => number;
  /** Files that wait to be deleted. */
  readonly discardQueueFiles?: () => number;
  /** Bytes that wait to be written to local copies. */
  readonly localQueueBytes?: () => number;
}

const GAUGES: { readonly [Name in keyof Required<UploadGauges>]: readonly [string, string] } = {
  queueTasks: ["upload_queue_tasks", "Tasks that wait to be uploaded"],
  inFlightBytes: ["in_flight_bytes", "Bytes that are not durable yet"],
  attemptsInFlight: ["upload_attempts_in_flight", "Attempts that run"],
  trackedFiles: ["tracked_files", "Change files that are needed and that no checkpoint owns"],
  discardQueueFiles: ["discard_queue_files", "Files that wait to be deleted"],
  localQueueBytes: ["local_copy_queue_bytes", "Bytes that wait to be written to local copies"],
};

/**
 * The upload system's metrics of one job. Seed: `ChangelogStorageMetricGroup`.
 *
 * @example
 * ```ts
 * import { UploadMetrics } from "@tidemark/tidemark";
 * import { PrometheusMetrics } from "@tidemark/tidemark/http";
 *
 * const metrics = new PrometheusMetrics();
 * new UploadMetrics(metrics, "orders").uploadRequests.add();
 * console.assert(metrics.render().includes('upload_requests_total{job="orders"} 1'));
 * ```
 */
export class UploadMetrics {
  readonly #metrics: Metrics;
  readonly #labels: MetricLabels;
  /** Attempts that began; retries count. */
  readonly uploadRequests: Counter;
  /** Attempts that failed, timeouts not counted. */
  readonly uploadFailures: Counter;
  /** Attempts that took longer than they may. */
  readonly uploadTimeouts: Counter;
  /** Uncompressed bytes of each successful upload, framing included. */
  readonly uploadSizes: Histogram;
  /** Bytes that each successful upload wrote. */
  readonly uploadStoredSizes: Histogram;
  /** How long each successful upload took. */
  readonly uploadLatencies: Histogram;
  /** Which attempt won. */
  readonly attemptsPerUpload: Histogram;
  /** Attempts in all when one won. */
  readonly totalAttemptsPerUpload: Histogram;
  /** Tasks of each batch. */
  readonly uploadBatchSizes: Histogram;
  /** Uploads that began since a writer held too much. */
  readonly preemptiveUploads: Counter;
  /** Appends that were refused, since the job holds too much. */
  readonly refusedAppends: Counter;
  /** How long whoever asked for room had to wait. */
  readonly throttleWaits: Histogram;
  /** Files that were deleted, as nobody needed them any more. */
  readonly discards: Counter;
  /** Attempts to delete a file that failed. */
  readonly discardFailures: Counter;
  /** Local copies that failed. */
  readonly localFailures: Counter;
  /** Restores from a local copy that fell back to the main one. */
  readonly localFallbacks: Counter;

  /**
   * Makes the metrics of one job; made twice, they count into the same series.
   *
   * @param metrics Where they count.
   * @param job Stands in the label `job`.
   */
  constructor(metrics: Metrics, job: string) {
    this.#metrics = metrics;
    this.#labels = { job };
    this.uploadRequests = this.#counter("upload_requests_total", "Upload attempts that began");
    this.uploadFailures = this.#counter("upload_failures_total", "Upload attempts that failed");
    this.uploadTimeouts = this.#counter("upload_timeouts_total", "Upload attempts that timed out");
    this.uploadSizes = this.#histogram("upload_size_bytes", "Uncompressed size of uploads", BYTES);
    this.uploadStoredSizes = this.#histogram(
      "upload_stored_size_bytes",
      "Stored size of uploads",
      BYTES,
    );
    this.uploadLatencies = this.#histogram("upload_latency_seconds", "Time of uploads", SECONDS);
    this.attemptsPerUpload = this.#histogram(
      "upload_winning_attempt",
      "Attempt that won",
      ATTEMPTS,
    );
    this.totalAttemptsPerUpload = this.#histogram(
      "upload_attempts",
      "Attempts until one won",
      ATTEMPTS,
    );
    this.uploadBatchSizes = this.#histogram("upload_batch_tasks", "Tasks of batches", COUNTS);
    this.preemptiveUploads = this.#counter(
      "preemptive_uploads_total",
      "Uploads that began since a writer held too much",
    );
    this.refusedAppends = this.#counter("refused_appends_total", "Appends that were refused");
    this.throttleWaits = this.#histogram(
      "throttle_wait_seconds",
      "Time that appends waited for room",
      SECONDS,
    );
    this.discards = this.#counter("discards_total", "Files that were deleted");
    this.discardFailures = this.#counter(
      "discard_failures_total",
      "Attempts to delete a file that failed",
    );
    this.localFailures = this.#counter("local_copy_failures_total", "Local copies that failed");
    this.localFallbacks = this.#counter(
      "local_copy_fallbacks_total",
      "Restores that left a local copy for the main one",
    );
  }

  /**
   * Shows gauges.
   *
   * @param gauges What they read.
   * @returns What takes them away again.
   */
  observe(gauges: UploadGauges): () => void {
    const shown = Object.entries(gauges).map(([which, read]) => {
      const [name, help] = GAUGES[which as keyof UploadGauges];
      return this.#gauge(name, help, read);
    });
    return () => shown.forEach((gauge) => gauge.remove());
  }

  #counter(name: string, help: string): Counter {
    return this.#metrics.counter(`tidemark_${name}`, help, this.#labels);
  }

  #histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    return this.#metrics.histogram(`tidemark_${name}`, help, bounds, this.#labels);
  }

  #gauge(name: string, help: string, read: () => number) {
    return this.#metrics.gauge(`tidemark_${name}`, help, read, this.#labels);
  }
}
