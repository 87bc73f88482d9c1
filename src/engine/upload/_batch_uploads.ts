/**
 * Uploads one batch, with retries.
 * Owns: what an attempt is, and that an uploader which can't overlap has one call at a time, a hung one included.
 * Does not own: when, tasks, whether to try again.
 * @module
 */
import type { Logger } from "../port/logger.ts";
import { Slots } from "./_slots.ts";
import { isTimeout, type RetryPolicy } from "./retry_policy.ts";
import type { RetryingExecutor } from "./retrying_executor.ts";
import type { UploadMetrics } from "./upload_metrics.ts";
import type { UploadTask, UploadTasksResult } from "./upload_task.ts";
import type { StateChangeUploader, UploadOptions } from "./uploader.ts";

/** What uploads need. */
export interface BatchUploadsComponents {
  readonly executor: RetryingExecutor;
  readonly retryPolicy: RetryPolicy;
  readonly logger: Logger;
  readonly metrics: UploadMetrics;
}

/** What comes after an upload. */
export type UpcomingTasks = Pick<UploadOptions, "next" | "onArrival">;

/** Uploads batches. */
export class BatchUploads {
  readonly #uploader: StateChangeUploader;
  readonly #components: BatchUploadsComponents;
  readonly #turns = new Slots(1);

  constructor(uploader: StateChangeUploader, components: BatchUploadsComponents) {
    this.#uploader = uploader;
    this.#components = components;
  }

  /**
   * Uploads a batch.
   *
   * @param upcoming Which tasks come next, if that is known, and who is told of more.
   * @throws What its last attempt failed with.
   */
  upload(
    tasks: readonly UploadTask[],
    upcoming: UpcomingTasks,
  ): Promise<UploadTasksResult> {
    const { executor, retryPolicy, metrics } = this.#components;
    metrics.uploadBatchSizes.record(tasks.length);
    const attempt = ({ signal }: { readonly signal: AbortSignal }) =>
      this.#attempt(tasks, { signal, ...upcoming });
    return executor.execute(attempt, retryPolicy, {
      overlapping: this.#uploader.canOverlap,
      onLoser: (result) => this.discard(result),
      onFailure: (attempt, error) => this.#failed(tasks, attempt, error),
      onSuccess: (attempt, attempts) => {
        metrics.attemptsPerUpload.record(attempt);
        metrics.totalAttemptsPerUpload.record(attempts);
      },
    });
  }

  /** Takes back what nobody will be told of. What went to an append file stays there. */
  discard(result: UploadTasksResult): void {
    if (!this.#uploader.canOverlap) return;
    try {
      this.#uploader.discard?.(result);
    } catch (error) {
      this.#components.logger.log("warning", "Cannot discard a superfluous upload", { error });
    }
  }

  async #attempt(
    tasks: readonly UploadTask[],
    options: UploadOptions & { readonly signal: AbortSignal },
  ): Promise<UploadTasksResult> {
    const { signal } = options;
    if (this.#uploader.canOverlap) return await this.#uploader.upload(tasks, { signal });
    if (this.#turns.used > 0) await this.#turn(signal);
    else this.#turns.request(() => {});
    try {
      // The turn may have come together with the abort.
      signal.throwIfAborted();
      return await this.#uploader.upload(tasks, options);
    } finally {
      this.#turns.release();
    }
  }

  /** Waits until a call that was given up has ended. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = this.#turns.request(resolve);
      signal.addEventListener("abort", () => (leave(), reject(signal.reason)), { once: true });
    });
  }

  #failed(tasks: readonly UploadTask[], attempt: number, error: unknown): void {
    const { logger, metrics } = this.#components;
    (isTimeout(error) ? metrics.uploadTimeouts : metrics.uploadFailures).add();
    logger.log("warning", "An attempt to upload failed", { attempt, tasks: tasks.length, error });
  }
}
