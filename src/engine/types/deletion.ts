/** Deleting a whole job. @module */
import type { Problem, Progress } from "./report.ts";

/**
 * Options of {@link Store.deleteJob}.
 *
 * @example
 * ```ts
 * import { type DeleteJobOptions, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await store.job("orders");
 * const options: DeleteJobOptions = { signal: AbortSignal.timeout(60_000) };
 * await store.deleteJob("orders", options);
 * ```
 */
export interface DeleteJobOptions {
  /** Whether to take it from a live owner on this machine, and from whoever reads it. @default false */
  takeOver?: boolean;
  /**
   * Stops it. Before the deletion is published the job is as it was; after it the job is gone, and what is left of it
   * goes when it is deleted again, or made anew. @default never
   */
  signal?: AbortSignal;
  /** Told how many objects are deleted. @default nobody */
  onProgress?: (progress: Progress) => void;
}

/**
 * What was deleted of a job.
 *
 * @example
 * ```ts
 * import { type JobDeletion, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint();
 * const deletion: JobDeletion = await store.deleteJob("orders");
 * console.assert(deletion.checkpoints === 1 && deletion.deletedBytes > 0);
 * ```
 */
export interface JobDeletion {
  /** The job's name; it is free again. */
  readonly job: string;
  /** Checkpoints that the job had; 0 where an earlier deletion was stopped, and this one ended it. */
  readonly checkpoints: number;
  /** Objects that were deleted. */
  readonly deletedObjects: number;
  /** Bytes of the objects that were deleted. */
  readonly deletedBytes: number;
  /** What could not be deleted: deleting the job again tries again. */
  readonly problems: readonly Problem[];
}
