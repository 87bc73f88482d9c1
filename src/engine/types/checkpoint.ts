/** Checkpoints, and where a pipeline starts again. @module */
import type { At } from "./at.ts";
import type { KeyGroupRange } from "./change.ts";
import type { OffsetRange, Progress } from "./report.ts";
import type { StateMetadata, StateSource } from "./state.ts";

/**
 * What a checkpoint is. Seed: `CheckpointMetadata`.
 *
 * @example
 * ```ts
 * import { type CheckpointMetadata, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const first: CheckpointMetadata = await job.checkpoint({ identifier: "noon", steps: 12n });
 * const second: CheckpointMetadata = await job.checkpoint();
 * console.assert(second.parent === first.uuid && second.isHead);
 * ```
 */
export interface CheckpointMetadata {
  /** Its name: a uuid of version 7 (RFC 9562). */
  readonly uuid: string;
  /** A name for people; undefined when none was given. */
  readonly identifier?: string;
  /** The job's fingerprint when it was made: 0 to 2^64 - 1. */
  readonly fingerprint: bigint;
  /** Bytes of the objects that the checkpoint needs, shared ones included. */
  readonly size: number;
  /** Steps of the pipeline, as given: 0 to 2^64 - 1. */
  readonly steps?: bigint;
  /** Records that the pipeline had processed, as given: 0 to 2^64 - 1. */
  readonly processedRecords?: bigint;
  /** Uuid of the checkpoint that this one goes on from; undefined when there is none. */
  readonly parent?: string;
  /** When it was made, by the owner's clock: milliseconds since 1970. */
  readonly createdAtMs: number;
  /** Epoch of the owner that made it. */
  readonly epoch: number;
  /** The pipeline's run in which it was made. */
  readonly run: number;
  /** Under which key it was asked for; undefined when none was given. */
  readonly idempotencyKey?: string;
  /** Whether it is `head`: the checkpoint from which the tail goes on. */
  readonly isHead: boolean;
  /** Whether it is not an ancestor of `head`. */
  readonly isAbandoned: boolean;
  /** Why it stays whatever retention says; undefined when it is not pinned. */
  readonly pin?: string;
  /** When retention let it go; it is removed some time after. In milliseconds since 1970. */
  readonly quarantinedAtMs?: number;
}

/**
 * A checkpoint that is not published: it is being made, or has failed.
 *
 * @example
 * ```ts
 * import { type CheckpointAttempt, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const making = job.checkpoint();
 * const [attempt]: CheckpointAttempt[] = job.unpublishedCheckpoints();
 * console.assert(attempt.state === "preparing");
 * await making;
 * console.assert(job.unpublishedCheckpoints().length === 0);
 * ```
 */
export interface CheckpointAttempt {
  /** Its uuid. */
  readonly uuid: string;
  /** `preparing`, or `failed`: what it wrote goes with a collection. */
  readonly state: "preparing" | "failed";
  /** A name for people; undefined when none was given. */
  readonly identifier?: string;
  /** When it was asked for, by the owner's clock: milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Why it failed, for people. */
  readonly reason?: string;
}

/**
 * A checkpoint with what stands in its manifest.
 *
 * @example
 * ```ts
 * import { type CheckpointDetails, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * await job.checkpoint({ metadata: { line: 1 } });
 * const details: CheckpointDetails = await job.checkpointDetails("latest");
 * console.assert(details.writers[0].nextOffset === 1 && details.files.length === 1);
 * ```
 */
export interface CheckpointDetails extends CheckpointMetadata {
  /** JSON that the pipeline gave; null when it gave none. */
  readonly metadata: unknown;
  /** Version of Tidemark that made it. */
  readonly engineVersion: string;
  /** Version of the format that it is stored in. */
  readonly formatVersion: number;
  /** Where every writer stood: its changes below `nextOffset` belong to the checkpoint. */
  readonly writers: readonly {
    /** The writer's name. */
    readonly writer: string;
    /** Key groups that it takes. */
    readonly keyGroups: KeyGroupRange;
    /** Offset after its last change in the checkpoint. */
    readonly nextOffset: number;
    /** Sequence number after its last change set in the checkpoint. */
    readonly sequenceNumber: number;
    /** Whether it ends there: checkpoints after this one need not list it. @default false */
    readonly isClosed?: boolean;
  }[];
  /** The change files that it needs, each by its key and up to which byte. */
  readonly files: readonly { readonly key: string; readonly length: number }[];
  /** Its state objects, in order of name. */
  readonly states: readonly StateMetadata[];
}

/**
 * Options of {@link Job.checkpoint}.
 *
 * @example
 * ```ts
 * import { type CheckpointOptions, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const options: CheckpointOptions = {
 *   identifier: "before the upgrade",
 *   processedRecords: 1_000n,
 *   metadata: { topic: "orders", offsets: [512, 488] },
 * };
 * await job.checkpoint(options);
 * const { checkpoint } = await job.resume();
 * console.assert(checkpoint?.processedRecords === 1_000n);
 * ```
 */
export interface CheckpointOptions {
  /**
   * Its uuid, so that who lost the answer can look whether it was made. The nil uuid and one that was used before are
   * refused. @default a new one of version 7
   */
  uuid?: string;
  /** A name for people; the catalog's entry takes 1 KiB in all. @default none */
  identifier?: string;
  /** Steps of the pipeline: 0 to 2^64 - 1. @default none */
  steps?: bigint;
  /** Records that the pipeline has processed: 0 to 2^64 - 1. @default none */
  processedRecords?: bigint;
  /** JSON that belongs to the checkpoint, such as source offsets; at most 64 KiB. @default none */
  metadata?: unknown;
  /**
   * State objects that belong to the checkpoint, by names like writers'; at most 10,000. It has these and no others:
   * one of an earlier checkpoint is named as `{ from }`. When one can't be read or written, the checkpoint fails.
   * @default none
   */
  states?: Readonly<Record<string, StateSource>>;
  /**
   * Makes it once, however often it is asked for, also after a restart: 1 to 128 printable ASCII characters, no space at
   * an end. As long as a checkpoint of this key is listed, and is `head` or an ancestor of it, the same request answers
   * that one, and waits for it while it is being made; another request is an `idempotency-conflict`. Compared are the
   * other options, and the content of states that are given as bytes or were written ahead; states that come piece by
   * piece are not read again. A key is free
   * when its checkpoint has failed, was collected, or was abandoned by a resume. @default it is made anew each time
   */
  idempotencyKey?: string;
  /**
   * The pipeline's run that asks: when another has begun, this one is `fenced`. So what an older process still asks for
   * never joins its own metadata to what the newer one appended. @default whichever is going on
   */
  run?: number;
  /** Stops waiting, and gives the checkpoint up, unless it is being published by then. @default never */
  signal?: AbortSignal;
  /** Told of every writer that is durable, and when it is published. @default nobody */
  onProgress?: (progress: Progress) => void;
}

/**
 * Options of {@link Job.resume}.
 *
 * @example
 * ```ts
 * import { openStore, type ResumeOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const options: ResumeOptions = { at: "tail" }; // the source does not replay
 * console.assert((await job.resume(options)).run === 2);
 * ```
 */
export interface ResumeOptions {
  /** Where to start again; `latest` without a checkpoint is nothing. @default "latest" */
  at?: At;
  /** Fingerprints, besides the job's own, that the checkpoint may have. @default [] */
  acceptFingerprints?: readonly bigint[];
  /**
   * Whether to go on from the next older checkpoint of the line when the wanted one can't be read whole. Each is
   * verified first, and each that is passed by is logged as an error. Not for `tail`. @default false
   */
  fallback?: boolean;
  /** Ends the wait; once the older run has ended, the resume goes on, and may take effect. @default never */
  signal?: AbortSignal;
}

/**
 * Where a pipeline starts again.
 *
 * @example
 * ```ts
 * import { openStore, type ResumeResult } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * await job.checkpoint({ metadata: { line: 1 } });
 * const start: ResumeResult = await job.resume();
 * console.assert(start.run === 2 && start.writers[0].nextOffset === 1);
 * ```
 */
export interface ResumeResult {
  /** The run that has begun; appends of earlier ones are `fenced`. */
  readonly run: number;
  /** The owner's new epoch. */
  readonly epoch: number;
  /** The checkpoint it starts from, with its metadata; undefined when it starts from nothing, or from the tail. */
  readonly checkpoint?: CheckpointDetails;
  /** Where every writer goes on. */
  readonly writers: readonly {
    /** The writer's name. */
    readonly writer: string;
    /** Offset that its next change gets. */
    readonly nextOffset: number;
    /** Sequence number of its active change set. */
    readonly sequenceNumber: number;
  }[];
  /**
   * What was appended after the place where it starts, durable or not, and is no part of the job any more. Its files
   * stay until a checkpoint was published.
   */
  readonly dropped: readonly OffsetRange[];
}
