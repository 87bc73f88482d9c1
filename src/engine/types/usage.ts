/** How much room a job takes. @module */

/**
 * Objects of one kind.
 *
 * @example
 * ```ts
 * import { openStore, type UsageOfKind } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint();
 * const { checkpoints }: Readonly<Record<string, UsageOfKind>> = (await job.usage()).kinds;
 * console.assert(checkpoints.objects === 1);
 * ```
 */
export interface UsageOfKind {
  /** Bytes of all of them. */
  readonly bytes: number;
  /** How many there are. */
  readonly objects: number;
}

/**
 * Bytes that one checkpoint needs. Seed: `measure_checkpoint_storage_use`.
 *
 * @example
 * ```ts
 * import { type CheckpointUsage, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint();
 * const [usage]: readonly CheckpointUsage[] = (await job.usage()).checkpoints;
 * console.assert(usage.referencedBytes === usage.exclusiveBytes + usage.sharedBytes);
 * ```
 */
export interface CheckpointUsage {
  /** The checkpoint. */
  readonly uuid: string;
  /** Bytes of its state objects, as they are stored; part of `referencedBytes`. */
  readonly stateBytes: number;
  /** Bytes of every object that the checkpoint needs. */
  readonly referencedBytes: number;
  /** Bytes that would go with it: nothing else needs them. */
  readonly exclusiveBytes: number;
  /** Bytes that another checkpoint or the tail needs too. */
  readonly sharedBytes: number;
}

/**
 * How much room a job takes, counted object by object.
 *
 * @example
 * ```ts
 * import { type JobUsage, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array(100));
 * await job.checkpoint();
 * const usage: JobUsage = await job.usage();
 * console.assert(usage.checkpoints[0].referencedBytes <= usage.bytes);
 * ```
 */
export interface JobUsage {
  /** Bytes of all objects of the job, whoever needs them. */
  readonly bytes: number;
  /** How many objects there are. */
  readonly objects: number;
  /** The same by the job's folders: `changelog`, `states`, `checkpoints`, `catalog`, `owners`, `adopted`, `private`, …. */
  readonly kinds: Readonly<Record<string, UsageOfKind>>;
  /** The same by checkpoint, oldest first. */
  readonly checkpoints: readonly CheckpointUsage[];
}
