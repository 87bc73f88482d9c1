/**
 * Deletes what it is handed, a few objects at a time, and tries again what failed.
 * Owns: how many deletes run at once, and what becomes of one that fails.
 * Does not own: whether an object may go. Change files of a job go only as its catalog says.
 * @module
 */
import type { Clock } from "../port/clock.ts";
import type { Logger } from "../port/logger.ts";
import type { Random } from "../port/random.ts";
import type { StorageBackend } from "../storage/backend.ts";
import type { Deleter } from "./deleter.ts";
import { RetryPolicy } from "./retry_policy.ts";
import { RetryingExecutor } from "./retrying_executor.ts";
import type { UploadMetrics } from "./upload_metrics.ts";

/** What a {@link BoundedDeleter} is made of. */
export interface BoundedDeleterComponents {
  readonly backend: StorageBackend;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: UploadMetrics;
}

/** Options of a {@link BoundedDeleter}. */
export interface BoundedDeleterOptions {
  /** Deletes that run at once, hung ones included. Setting `discardConcurrencyMax`. */
  readonly concurrencyMax: number;
  /** @default five attempts of 30 s within two minutes, waits up to 10 s */
  readonly retryPolicy?: RetryPolicy;
}

/** A {@link Deleter} that deletes at once. What can't be deleted is left to a later sweep. */
export class BoundedDeleter implements Deleter {
  readonly #components: BoundedDeleterComponents;
  readonly #concurrencyMax: number;
  readonly #policy: RetryPolicy;
  readonly #executor: RetryingExecutor;
  readonly #hideGauge: () => void;
  /** Keys that wait, and those whose delete runs. */
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(components: BoundedDeleterComponents, options: BoundedDeleterOptions) {
    const { clock, random, logger, metrics } = components;
    this.#components = components;
    this.#concurrencyMax = options.concurrencyMax;
    this.#policy = options.retryPolicy ?? defaultPolicy(random);
    this.#executor = new RetryingExecutor({ clock, logger }, {
      attemptsInFlightMax: options.concurrencyMax,
    });
    this.#hideGauge = metrics.observe({ discardQueueFiles: () => this.#waiting.size });
  }

  discard(keys: readonly string[]): void {
    if (this.#isClosed) return;
    for (const key of keys) if (!this.#running.has(key)) this.#waiting.add(key);
    this.#fill();
  }

  /** Resolves when everything that was handed over so far is deleted or given up. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** Forgets what waits, and what runs. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#hideGauge();
    await this.#executor.close();
    await this.whenIdle();
  }

  #fill(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#concurrencyMax) return;
      this.#waiting.delete(key);
      this.#running.set(key, this.#delete(key));
    }
  }

  async #delete(key: string): Promise<void> {
    const { backend, logger, metrics } = this.#components;
    try {
      await this.#executor.execute(() => backend.delete(key), this.#policy, {
        overlapping: false,
        onFailure: () => metrics.discardFailures.add(),
      });
      metrics.discards.add();
    } catch (error) {
      if (!this.#isClosed) logger.log("warning", "Cannot delete a file", { key, error });
    }
    this.#running.delete(key);
    this.#fill();
  }
}

function defaultPolicy(random: Random): RetryPolicy {
  return RetryPolicy.exponential({
    attemptsMax: 5,
    timeoutMs: 30_000,
    delayMsMin: 500,
    delayMsMax: 10_000,
    deadlineMs: 120_000,
    random,
  });
}
