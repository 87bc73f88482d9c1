/**
 * What a job counts of its checkpoints. Names end in their unit; every one carries the job.
 * Source: the state backend's and the materialisation's metrics of Flink's changelog.
 * Owns: series, and what the newest checkpoint added to the one before. Does not own: checkpoints.
 * @module
 */
import type { ManifestBody } from "../format/manifest.ts";
import type { Clock } from "../port/clock.ts";
import type { Counter, Gauge, Histogram, MetricLabels, Metrics } from "../port/metrics.ts";

const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

/** An object that a checkpoint needs. */
interface Needed {
  readonly key: string;
  readonly epoch: number;
  readonly length: number;
}

/** Bytes of the newest checkpoint: all of them, and those that the one before did not have. */
interface Sizes {
  readonly full: number;
  readonly added: number;
}

/** The metrics of one job's checkpoints. */
export class CheckpointMetrics {
  readonly #metrics: Metrics;
  readonly #labels: MetricLabels;
  readonly #clock: Clock;
  readonly #begun: Counter;
  readonly #published: Counter;
  readonly #failures: Counter;
  readonly #durations: Histogram;
  /** What the newest checkpoint needs, each up to which length; undefined before the first since the open. */
  #known: ReadonlyMap<string, number> | undefined;
  #changelog: Sizes = { full: 0, added: 0 };
  #states: Sizes = { full: 0, added: 0 };
  #gauges: Gauge[] = [];
  #isClosed = false;

  /**
   * @param job Stands in the label `job`.
   * @param clock Tells how long checkpoints take.
   */
  constructor(metrics: Metrics, job: string, clock: Clock) {
    this.#metrics = metrics;
    this.#labels = { job };
    this.#clock = clock;
    this.#begun = this.#counter("checkpoints_begun_total", "Checkpoints that were asked for");
    this.#published = this.#counter("checkpoints_total", "Checkpoints that were published");
    this.#failures = this.#counter("checkpoint_failures_total", "Checkpoints that failed");
    this.#durations = metrics.histogram(
      "tidemark_checkpoint_duration_seconds",
      "Time of checkpoints, from the call to the publish",
      SECONDS,
      this.#labels,
    );
  }

  /** Counts a checkpoint, from the call to its end. */
  async measure<Result>(checkpoint: Promise<Result>): Promise<Result> {
    const startMs = this.#clock.monotonicMs();
    this.#begun.add();
    try {
      const result = await checkpoint;
      this.#published.add();
      this.#durations.record((this.#clock.monotonicMs() - startMs) / 1000);
      return result;
    } catch (error) {
      this.#failures.add();
      throw error;
    }
  }

  /** A checkpoint was published: its sizes are shown from now on. */
  published({ epoch, files, states }: Pick<ManifestBody, "epoch" | "files" | "states">): void {
    this.#changelog = this.#sizesOf(files, epoch);
    this.#states = this.#sizesOf(states, epoch);
    this.#known = new Map([...files, ...states].map(({ key, length }) => [key, length]));
    if (this.#gauges.length === 0 && !this.#isClosed) this.#show();
  }

  /** Ends the gauges. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const gauge of this.#gauges) gauge.remove();
    this.#gauges = [];
  }

  #sizesOf(objects: readonly Needed[], ownEpoch: number): Sizes {
    let full = 0;
    let added = 0;
    for (const { key, epoch, length } of objects) {
      // Of what older owners wrote, the first checkpoint since the open adds nothing.
      const known = this.#known === undefined && epoch < ownEpoch ? length : this.#known?.get(key);
      full += length;
      added += Math.max(0, length - (known ?? 0));
    }
    return { full, added };
  }

  #show(): void {
    const added = "Of those, what the checkpoint before it did not need";
    this.#gauges = [
      this.#gauge(
        "checkpoint_changelog_bytes",
        "Bytes of change files that the newest checkpoint needs",
        () => this.#changelog.full,
      ),
      this.#gauge("checkpoint_changelog_added_bytes", added, () => this.#changelog.added),
      this.#gauge(
        "checkpoint_state_bytes",
        "Bytes of state objects that the newest checkpoint needs",
        () => this.#states.full,
      ),
      this.#gauge("checkpoint_state_added_bytes", added, () => this.#states.added),
    ];
  }

  #counter(name: string, help: string): Counter {
    return this.#metrics.counter(`tidemark_${name}`, help, this.#labels);
  }

  #gauge(name: string, help: string, read: () => number): Gauge {
    return this.#metrics.gauge(`tidemark_${name}`, help, read, this.#labels);
  }
}
