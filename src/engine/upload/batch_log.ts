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
 * Where an uploader's batches go, one after another. A job's is a row of change files.
 *
 * @example
 * ```ts
 * import type { BatchLog } from "@tidemark/tidemark";
 *
 * let batches = 0;
 * const log: BatchLog = {
 *   appendBatch(sets, _signal, onDurable) {
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
   * @param signal Gives the batch up, without waiting for a call that hangs. @default never
   * @param onDurable Told where the batch is, before its file may end. @default nobody
   * @returns Where the batch is.
   * @throws What the storage answered, or the signal's reason.
   */
  appendBatch(
    sets: readonly ChangeSet[],
    signal?: AbortSignal,
    onDurable?: (place: BatchPlace) => void,
  ): Promise<BatchPlace>;
  /** Ends the file that is open; does nothing when none is. Not while a batch is being written. */
  seal(): Promise<void>;
}
