/**
 * Writes the change sets of many tasks to the log, as few batches as can be. Seed: `StateChangeFsUploader`.
 * Owns: what goes into a batch, and that nothing is told to be durable before it is, and by its owner.
 * Does not own: when to upload, retries, files.
 * @module
 */
import type { ChangeSet } from "../format/change_set.ts";
import { TidemarkError } from "../errors.ts";
import { BATCH_BODY_BYTES_MAX as BODY_BYTES_MAX, MIB } from "../limits.ts";
import type { Clock } from "../port/clock.ts";
import type { BatchLog, BatchPlace } from "./batch_log.ts";
import type { TaskChangelogRegistry } from "./task_changelog_registry.ts";
import type { UploadMetrics } from "./upload_metrics.ts";
import type { UploadResult, UploadTask, UploadTasksResult } from "./upload_task.ts";
import type { StateChangeUploader, UploadOptions } from "./uploader.ts";

/** A change set must fit a batch, with room for what the batch adds. */
export const CHANGE_SET_BYTES_MAX: number = BODY_BYTES_MAX - MIB;
/** Body at which a batch ends: a recovery may have to hold one in memory. */
const BATCH_BODY_BYTES_MAX = 64 * MIB;
/** Change sets at which a batch ends, so that its index stays small. */
const BATCH_SETS_MAX = 50_000;

/** Splits change sets into batches, in order. */
export function splitIntoBatches(sets: readonly ChangeSet[]): ChangeSet[][] {
  const batches: ChangeSet[][] = [];
  let batch: ChangeSet[] = [];
  let bytes = 0;
  for (const set of sets) {
    const isFull = bytes + set.byteLength > BATCH_BODY_BYTES_MAX || batch.length >= BATCH_SETS_MAX;
    if (isFull && batch.length > 0) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(set);
    bytes += set.byteLength;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/**
 * What a {@link StateChangeFsUploader} reports to, besides its caller.
 *
 * @example
 * ```ts
 * import {
 *   type FsUploaderComponents,
 *   systemPorts,
 *   TaskChangelogRegistry,
 *   UploadMetrics,
 * } from "@tidemark/tidemark";
 *
 * const { clock, metrics } = systemPorts();
 * const components: FsUploaderComponents = {
 *   clock,
 *   metrics: new UploadMetrics(metrics, "orders"),
 *   registry: new TaskChangelogRegistry({ discard: (keys) => console.log(`${keys} may go`) }),
 * };
 * console.assert(components.registry?.trackedFiles === 0);
 * ```
 */
export interface FsUploaderComponents {
  /** Tells how long uploads take. */
  readonly clock: Clock;
  /** Where attempts, sizes and times are counted. */
  readonly metrics: UploadMetrics;
  /** Counts who still needs a file. @default nobody counts */
  readonly registry?: TaskChangelogRegistry;
}

/**
 * Writes the change sets of many tasks to a log, in as few batches as can be: one, unless they are above 64 MiB or
 * 50,000. {@link uploaderFromConfig} makes one over change files. Seed: `StateChangeFsUploader`.
 *
 * A task with a change set above 1023 MiB is refused for its own data (`change-too-large`), and the others are
 * written. Anything else that fails is thrown, and no task is told: they may be tried again.
 *
 * @example
 * ```ts
 * import { StateChangeFsUploader, UploadTask } from "@tidemark/tidemark";
 *
 * const batches: number[] = [];
 * const uploader = new StateChangeFsUploader({
 *   appendBatch(sets, { onDurable } = {}) {
 *     const place = { key: "file", batch: batches.length, bodyBytes: 0, storedBytes: 0 };
 *     batches.push(sets.length);
 *     onDurable?.(place);
 *     return Promise.resolve(place);
 *   },
 *   seal: () => Promise.resolve(),
 * }, () => {}); // nobody else can own this log
 *
 * const changes = new Uint8Array([130, 0, 65, 5]); // [0, h'05']
 * const changeSet = (writer: string) => ({
 *   writer,
 *   keyGroups: [0, 127] as const,
 *   epoch: 1,
 *   sequenceNumber: 0,
 *   firstOffset: 0,
 *   count: 1,
 *   keyGroupMin: 0,
 *   keyGroupMax: 0,
 *   byteLength: changes.length,
 *   chunks: [changes],
 * });
 * const tasks = ["a", "b"].map((name) => new UploadTask([changeSet(name)], () => {}, () => {}));
 * const { successful, failed } = await uploader.upload(tasks);
 * console.assert(successful.get(tasks[1])?.[0].key === "file" && failed.size === 0);
 * console.assert(batches.join() === "2"); // one batch for both
 * ```
 */
export class StateChangeFsUploader implements StateChangeUploader {
  /** A change file takes one batch after another. */
  readonly canOverlap: boolean = false;
  readonly #log: BatchLog;
  readonly #checkOwner: () => void;
  readonly #components: FsUploaderComponents | undefined;

  /**
   * Makes an uploader.
   *
   * @param log Where the batches go.
   * @param checkOwner Throws when the job has another owner; asked after a batch is durable, before its tasks complete.
   * @param components What it reports to. @default nothing
   */
  constructor(log: BatchLog, checkOwner: () => void, components?: FsUploaderComponents) {
    this.#log = log;
    this.#checkOwner = checkOwner;
    this.#components = components;
  }

  /**
   * Writes the tasks' change sets, and tracks their files.
   *
   * @param tasks In order of arrival.
   * @param options What gives the upload up. @default {}
   * @returns Which tasks are durable, and which were refused for their own data.
   * @throws {TidemarkError} `fenced`, of outcome `unknown`, when the job has another owner; what the storage answered:
   * `storage-full`, `storage-unavailable`, `storage-denied`
   * @throws The signal's reason, when it was given up.
   */
  async upload(
    tasks: readonly UploadTask[],
    options: UploadOptions = {},
  ): Promise<UploadTasksResult> {
    const failed = new Map<UploadTask, Error>();
    const written: UploadTask[] = [];
    const sets: ChangeSet[] = [];
    for (const task of tasks) {
      const refusal = refuse(task);
      if (refusal !== undefined) {
        failed.set(task, refusal);
        continue;
      }
      written.push(task);
      for (const set of task.changeSets) sets.push(set);
    }
    const results: UploadResult[] = [];
    try {
      await this.#write(sets, results, options);
      this.#checkOwner();
      // Nobody will hear of a result that comes too late.
      options.signal?.throwIfAborted();
      return { successful: byTask(written, results), failed };
    } catch (error) {
      // What this attempt made durable counts for nobody: whoever tries again writes it again.
      for (const { key } of results) this.#components?.registry?.release(key);
      throw error;
    }
  }

  /**
   * Releases the change sets of a result: nobody needs them any more.
   *
   * @param result What an upload answered that came too late.
   */
  discard(result: UploadTasksResult): void {
    for (const { key } of [...result.successful.values()].flat()) {
      this.#components?.registry?.release(key);
    }
  }

  /** Ends the file that is open. */
  async close(): Promise<void> {
    await this.#log.seal();
  }

  /** @param results Gets where each set is, in order, as soon as that is durable and tracked. */
  async #write(
    sets: readonly ChangeSet[],
    results: UploadResult[],
    { signal, next, onArrival }: UploadOptions,
  ): Promise<void> {
    const { clock, metrics, registry } = this.#components ?? {};
    const startMs = clock?.monotonicMs() ?? 0;
    metrics?.uploadRequests.add();
    let bodyBytes = 0;
    let storedBytes = 0;
    const batches = splitIntoBatches(sets);
    for (const [i, batch] of batches.entries()) {
      // Counted before its file may end: one that ends without being needed goes.
      const onDurable = ({ key, batch: number }: BatchPlace): void => {
        registry?.startTracking(key, batch.length);
        for (const set of batch) {
          const { sequenceNumber, byteLength } = set;
          results.push({ key, batch: number, sequenceNumber, byteLength });
        }
      };
      const place = await this.#log.appendBatch(batch, {
        signal,
        onDurable,
        next: (diskMs) => batches[i + 1] ?? firstBatch(next?.(diskMs)),
        onArrival: onArrival &&
          ((listener) => onArrival(({ changeSets }) => listener(changeSets))),
      });
      bodyBytes += place.bodyBytes;
      storedBytes += place.storedBytes;
    }
    metrics?.uploadSizes.record(bodyBytes);
    metrics?.uploadStoredSizes.record(storedBytes);
    metrics?.uploadLatencies.record(((clock?.monotonicMs() ?? 0) - startMs) / 1000);
  }
}

/** The first batch of tasks that will be written. */
function firstBatch(tasks: readonly UploadTask[] | undefined): ChangeSet[] | undefined {
  const written = tasks?.filter((task) => refuse(task) === undefined) ?? [];
  return splitIntoBatches(written.flatMap(({ changeSets }) => changeSets)).at(0);
}

/** Gives each task its own of the results, which are in order of the tasks' sets. */
function byTask(
  tasks: readonly UploadTask[],
  results: readonly UploadResult[],
): Map<UploadTask, readonly UploadResult[]> {
  const byTask = new Map<UploadTask, readonly UploadResult[]>();
  let at = 0;
  for (const task of tasks) {
    const count = task.changeSets.length;
    byTask.set(task, count === 1 ? [results[at]] : results.slice(at, at + count));
    at += count;
  }
  return byTask;
}

/** Why a task can't be uploaded, whatever becomes of the others. */
function refuse(task: UploadTask): Error | undefined {
  if (task.size <= CHANGE_SET_BYTES_MAX) return undefined;
  const tooLarge = task.changeSets.find((set) => set.byteLength > CHANGE_SET_BYTES_MAX);
  if (tooLarge === undefined) return undefined;
  const { writer, sequenceNumber, byteLength } = tooLarge;
  return new TidemarkError(
    "change-too-large",
    `Cannot upload change set ${sequenceNumber} of writer ${writer}: it has ${byteLength} bytes of at most ${CHANGE_SET_BYTES_MAX}; append in smaller pieces`,
    { details: { writer, sequenceNumber, bytes: byteLength, bytesMax: CHANGE_SET_BYTES_MAX } },
  );
}
