import type { UploadTask } from "./upload_task.ts";
import type { AvailabilityProvider } from "./upload_throttle.ts";

/**
 * How a scheduler is closed.
 *
 * @example
 * ```ts
 * import type { SchedulerCloseOptions } from "@tidemark/tidemark";
 *
 * const options: SchedulerCloseOptions = { mode: "abort", reason: new Error("The job was fenced") };
 * console.assert(options.mode === "abort");
 * ```
 */
export type SchedulerCloseOptions =
  /** Uploads what waits, then closes the uploader. */
  | { readonly mode: "drain" }
  /**
   * Fails what waits and what runs with `reason`, without waiting for it. The uploader is left to its maker, who knows
   * whether anything may still be written.
   */
  | { readonly mode: "abort"; readonly reason: Error };

/**
 * When to upload. Seed: `StateChangeUploadScheduler`.
 *
 * @example Schedule, wait for availability, upload the next
 * ```ts
 * import { directScheduler, type StateChangeUploader, UploadTask } from "@tidemark/tidemark";
 *
 * const uploader: StateChangeUploader = {
 *   canOverlap: false,
 *   upload: (tasks) => Promise.resolve({
 *     successful: new Map(tasks.map((task) => [task, task.changeSets.map((set) => (
 *       { sequenceNumber: set.sequenceNumber, key: "file", batch: 0, byteLength: set.byteLength }
 *     ))])),
 *     failed: new Map(),
 *   }),
 *   close: () => Promise.resolve(),
 * };
 * await using scheduler = directScheduler(uploader);
 *
 * const changes = new TextEncoder().encode("...");
 * const changeSet = (sequenceNumber: number) => ({
 *   writer: "totals",
 *   keyGroups: [0, 127] as const,
 *   epoch: 1,
 *   sequenceNumber,
 *   firstOffset: sequenceNumber,
 *   count: 1,
 *   keyGroupMin: 0,
 *   keyGroupMax: 0,
 *   byteLength: changes.length,
 *   chunks: [changes],
 * });
 * const task = new UploadTask(
 *   [changeSet(0), changeSet(1)],
 *   (results) => {
 *     for (const { sequenceNumber, byteLength } of results) {
 *       console.log(`Uploaded change set ${sequenceNumber}, ${byteLength} bytes`);
 *     }
 *   },
 *   (sequenceNumbers, error) => console.error(`Upload of ${sequenceNumbers} failed`, error),
 * );
 * scheduler.upload(task);
 *
 * const nextTask = new UploadTask([changeSet(2)], () => {}, () => {});
 * const { availability } = scheduler;
 * if (!availability.isAvailable()) await availability.whenAvailable();
 * scheduler.upload(nextTask);
 * await scheduler.whenIdle();
 * console.assert(task.isSettled && nextTask.isSettled);
 * ```
 */
export interface StateChangeUploadScheduler extends AsyncDisposable {
  /**
   * Takes a task; it will be completed or failed exactly once. Never throws: what can't be taken is failed.
   *
   * @param task Not handed over before.
   */
  upload(task: UploadTask): void;
  /** Tells when more tasks are taken without waiting. Seed: `getAvailabilityProvider`. */
  readonly availability: AvailabilityProvider;
  /** Whether an upload is running or about to; not while tasks wait for the delay alone. */
  readonly isUploading: boolean;
  /** Resolves when no task is waiting or running. */
  whenIdle(): Promise<void>;
  /** Uploads what waits without waiting for the delay. */
  flush(): void;
  /**
   * Ends the scheduler; every task is settled then. Idempotent, and `abort` ends a drain.
   *
   * @param options Whether to upload what waits. @default { mode: "drain" }
   */
  close(options?: SchedulerCloseOptions): Promise<void>;
}
