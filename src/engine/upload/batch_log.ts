import type { ChangeSet } from "../format/change_set.ts";

/**
 * Where a batch became durable.
 *
 * @example
 * ```ts
 * import type { BatchPlace } from "@tidemark/tidemark";
 *
 * const place: BatchPlace = { key: "file", batch: 0, bodyBytes: 1_000, storedBytes: 400 };
 * console.assert(place.storedBytes < place.bodyBytes);
 * ```
 */
export interface BatchPlace {
  /** Key of the file. */
  readonly key: string;
  /** Number of the batch in its file, from 0. */
  readonly batch: number;
  /** Bytes of the batch before compression, framing included. */
  readonly bodyBytes: number;
  /** Bytes that the batch takes in its file. */
  readonly storedBytes: number;
}

/**
 * Options of {@link BatchLog.appendBatch}.
 *
 * @example
 * ```ts
 * import type { AppendBatchOptions } from "@tidemark/tidemark";
 *
 * const keys: string[] = [];
 * const options: AppendBatchOptions = { onDurable: ({ key }) => keys.push(key) };
 * options.onDurable?.({ key: "file", batch: 0, bodyBytes: 1_000, storedBytes: 400 });
 * console.assert(keys.join() === "file");
 * ```
 */
export interface AppendBatchOptions {
  /** Gives the batch up, without waiting for a call that hangs. @default never */
  readonly signal?: AbortSignal;
  /** Told where the batch is, before its file may end. @default nobody */
  readonly onDurable?: (place: BatchPlace) => void;
  /**
   * Answers the change sets of the batch that comes next, or undefined while it is not known. A log may begin to encode
   * them while it waits for the disk, for `diskMs` as it expects; it writes nothing of them yet.
   * @default it is not known
   */
  readonly next?: (diskMs: number) => readonly ChangeSet[] | undefined;
  /**
   * Has the listener told of change sets that join those which wait, until what this answers is called: `next` may know
   * more then. @default nobody is told
   */
  readonly onArrival?: (listener: (sets: readonly ChangeSet[]) => void) => () => void;
}

/**
 * Where an uploader's batches go, one after another. A job's is a row of change files.
 *
 * @example
 * ```ts
 * import type { BatchLog } from "@tidemark/tidemark";
 *
 * let batches = 0;
 * const log: BatchLog = {
 *   appendBatch(sets, { onDurable } = {}) {
 *     const bytes = sets.reduce((sum, set) => sum + set.byteLength, 0);
 *     const place = { key: "file", batch: batches++, bodyBytes: bytes, storedBytes: bytes };
 *     onDurable?.(place);
 *     return Promise.resolve(place);
 *   },
 *   seal: () => Promise.resolve(),
 * };
 * console.assert((await log.appendBatch([])).batch === 0);
 * ```
 */
export interface BatchLog {
  /**
   * Makes a batch durable. One that fails, or is given up, may be there all the same, and counts for nothing.
   *
   * @param sets The change sets of the batch, in order.
   * @param options What gives it up, who is told, what comes next. @default {}
   * @returns Where the batch is.
   * @throws What the storage answered, or the signal's reason.
   */
  appendBatch(sets: readonly ChangeSet[], options?: AppendBatchOptions): Promise<BatchPlace>;
  /** Ends the file that is open; does nothing when none is. Not while a batch is being written. */
  seal(): Promise<void>;
}
