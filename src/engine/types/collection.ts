/** Which checkpoints stay, and what is deleted. @module */
import type { Problem, Progress } from "./report.ts";

/**
 * How many checkpoints of the line that ends in `head` stay. Pinned ones, and those that a collection excepts, come on
 * top. Seed: `MIN_CHECKPOINT_THRESHOLD`.
 *
 * @example
 * ```ts
 * import { openStore, type RetentionPolicy } from "@tidemark/tidemark";
 *
 * const aDay: RetentionPolicy = { minCount: 2, maxAgeMs: 86_400_000 };
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.setRetention(aDay);
 * ```
 */
export interface RetentionPolicy {
  /** So many of the newest stay, whatever their age; at least 1. @default 2 */
  readonly minCount: number;
  /** Not more than so many stay. @default as many as `maxAgeMs` lets, or `minCount` when that is not given either */
  readonly maxCount?: number;
  /** Beyond `minCount`, what is older than so many milliseconds goes. @default any age */
  readonly maxAgeMs?: number;
}

/**
 * Options of {@link Job.collect}.
 *
 * @example
 * ```ts
 * import { type CollectionOptions, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const look: CollectionOptions = { dryRun: true };
 * console.assert((await job.collect(look)).isDryRun);
 * ```
 */
export interface CollectionOptions {
  /** Uuids of checkpoints that stay in any case, on top of what retention keeps. @default none */
  readonly except?: Iterable<string>;
  /** Whether only to say what would be done. @default false */
  readonly dryRun?: boolean;
  /**
   * How long, in milliseconds, what goes rests with its bytes in place; 0 removes it at once.
   * @default 600000, or 0 while room is short
   */
  readonly quarantineMs?: number;
  /** Stops before the next delete; what is left goes with the next collection. @default never */
  readonly signal?: AbortSignal;
  /** Told before every delete. @default nobody */
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * An object, and what a collection decided about it.
 *
 * @example
 * ```ts
 * import { type CollectedObject, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint();
 * const isKept = ({ action }: CollectedObject): boolean => action === "keep";
 * console.assert((await job.collect({ dryRun: true })).objects.every(isKept));
 * ```
 */
export interface CollectedObject {
  /** The object's key. */
  readonly key: string;
  /** Size in bytes. */
  readonly size: number;
  /** What becomes of it. */
  readonly action: "delete" | "keep";
  /** Why, for people. */
  readonly reason: string;
}

/**
 * Why an object stays or goes: what {@link Job.explain} answers.
 *
 * @example
 * ```ts
 * import { type ObjectExplanation, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { uuid } = await job.checkpoint();
 * const { action, reason }: ObjectExplanation = await job.explain(uuid);
 * console.assert(action === "keep" && reason.endsWith("is one of the newest 2"));
 * ```
 */
export interface ObjectExplanation {
  /** The object's key. */
  readonly key: string;
  /** Size in bytes; undefined where it was not looked at, or there is no such object. */
  readonly size?: number;
  /** What the next collection does with it; `none`: there is no such object. */
  readonly action: "delete" | "keep" | "none";
  /** Why, for people. */
  readonly reason: string;
}

/**
 * A checkpoint, and whether it stays.
 *
 * @example
 * ```ts
 * import { type CheckpointVerdict, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint();
 * const [verdict]: readonly CheckpointVerdict[] = (await job.collect({ dryRun: true })).verdicts;
 * console.assert(verdict.stays);
 * ```
 */
export interface CheckpointVerdict {
  /** The checkpoint. */
  readonly uuid: string;
  /** Whether it stays. */
  readonly stays: boolean;
  /** Why, for people. */
  readonly reason: string;
}

/**
 * What a collection did, or would do. Seed: `gc_checkpoint` answers the removed uuids.
 *
 * @example
 * ```ts
 * import { type CollectionReport, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * for (let i = 0; i < 3; i++) await job.checkpoint();
 * const report: CollectionReport = await job.collect({ quarantineMs: 0 });
 * console.assert(report.removed.length === 1);
 * ```
 */
export interface CollectionReport {
  /** Whether nothing was done. */
  readonly isDryRun: boolean;
  /** Checkpoints that the catalog lists no more. */
  readonly removed: readonly string[];
  /** Checkpoints that rest in quarantine from now on. */
  readonly quarantined: readonly string[];
  /** Every checkpoint with the reason why it stays or goes, oldest first. */
  readonly verdicts: readonly CheckpointVerdict[];
  /** Every object that the engine may delete, with the reason why it goes or stays. */
  readonly objects: readonly CollectedObject[];
  /** Bytes of the objects that were deleted. */
  readonly deletedBytes: number;
  /** What could not be deleted, and the next collection tries again; manifests of resting checkpoints that can't be read. */
  readonly problems: readonly Problem[];
}
