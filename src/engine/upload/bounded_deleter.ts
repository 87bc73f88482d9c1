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

/**
 * What a {@link BoundedDeleter} is made of.
 *
 * @example
 * ```ts
 * import {
 *   type BoundedDeleterComponents,
 *   openBackend,
 *   systemPorts,
 *   UploadMetrics,
 * } from "@tidemark/tidemark";
 *
 * const ports = systemPorts();
 * const components: BoundedDeleterComponents = {
 *   ...ports,
 *   backend: openBackend("memory:"),
 *   metrics: new UploadMetrics(ports.metrics, "orders"),
 * };
 * console.assert(components.backend.name === "memory");
 * ```
 */
export interface BoundedDeleterComponents {
  /** Where the objects are. */
  readonly backend: StorageBackend;
  /** Drives timeouts and waits. */
  readonly clock: Clock;
  /** Draws the waits between attempts. */
  readonly random: Random;
  /** Told of what can't be deleted. */
  readonly logger: Logger;
  /** Where deletes, failures and the queue are counted. */
  readonly metrics: UploadMetrics;
}

/**
 * Options of a {@link BoundedDeleter}.
 *
 * @example
 * ```ts
 * import { type BoundedDeleterOptions, RetryPolicy } from "@tidemark/tidemark";
 *
 * const options: BoundedDeleterOptions = { concurrencyMax: 4, retryPolicy: RetryPolicy.none() };
 * console.assert(options.concurrencyMax === 4);
 * ```
 */
export interface BoundedDeleterOptions {
  /** Deletes that run at once, hung ones included. Setting `discardConcurrencyMax`. */
  readonly concurrencyMax: number;
  /** Decides about the next attempt. @default five attempts of 30 s within two minutes, waits up to 10 s */
  readonly retryPolicy?: RetryPolicy;
}

/**
 * A {@link Deleter} that deletes at once, so many objects at a time, with retries. What can't be deleted is logged,
 * counted, and left. A job of a store has no use for it: its catalog decides what may go.
 *
 * @example
 * ```ts
 * import {
 *   BoundedDeleter,
 *   openBackend,
 *   systemPorts,
 *   TaskChangelogRegistry,
 *   UploadMetrics,
 * } from "@tidemark/tidemark";
 *
 * const backend = openBackend("memory:");
 * await backend.put("file", new Uint8Array(1));
 * const ports = systemPorts();
 * const metrics = new UploadMetrics(ports.metrics, "orders");
 * const deleter = new BoundedDeleter({ ...ports, backend, metrics }, { concurrencyMax: 4 });
 * const registry = new TaskChangelogRegistry(deleter);
 * registry.startTracking("file", 1);
 * registry.release("file");
 * await deleter.whenIdle();
 * console.assert(await backend.head("file") === undefined);
 * await deleter.close();
 * ```
 */
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

  /**
   * Makes a deleter that has nothing to do.
   *
   * @param components What it is made of.
   * @param options How many deletes run at once, and how often each is tried.
   */
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

  /**
   * Deletes objects; answers at once. Those that are not there are fine.
   *
   * @param keys Keys of the objects.
   */
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
