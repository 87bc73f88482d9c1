/** Readers of change files, for those who know what they want. @module */
import type { KeyGroupRange } from "./change.ts";
import type { At } from "./at.ts";
import type { RestoredSlice } from "./restore.ts";
import type { PersistedSegment } from "./writer.ts";

/**
 * Some of a job's changes.
 *
 * @example
 * ```ts
 * import { type ChangeRange, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * for (const keyGroup of [1, 2, 3]) job.writer("totals").append(keyGroup, new Uint8Array(1));
 * await job.checkpoint();
 * await using reader = job.changelogReader();
 * const range: ChangeRange = { writers: ["totals"], keyGroups: [2, 3], from: 0, to: 2 };
 * const offsets: number[] = [];
 * for await (const { firstOffset } of reader.ranges([range])) offsets.push(firstOffset);
 * console.assert(offsets.join() === "1");
 * ```
 */
export interface ChangeRange {
  /** Which writers. @default all */
  readonly writers?: readonly string[];
  /** Which key groups, metadata (-1) only when it lies in the range. @default all */
  readonly keyGroups?: KeyGroupRange;
  /** First offset, of every writer. @default 0 */
  readonly from?: number;
  /** First offset that is not wanted any more. @default none */
  readonly to?: number;
}

/**
 * Encoded changes that lie in one of several ranges. Valid until the next one is asked for.
 *
 * @example
 * ```ts
 * import { openStore, type RangedSlice } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(7, new Uint8Array([5]));
 * await job.checkpoint();
 * await using reader = job.changelogReader();
 * for await (const slice of reader.ranges([{ keyGroups: [0, 3] }, { keyGroups: [4, 7] }])) {
 *   const { range, writer }: RangedSlice = slice;
 *   console.assert(range === 1 && writer === "totals");
 * }
 * ```
 */
export interface RangedSlice extends RestoredSlice {
  /** Index of the range. */
  readonly range: number;
}

/**
 * Options of a {@link ChangelogReader}'s reads.
 *
 * @example
 * ```ts
 * import { openStore, type ReadOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await using reader = job.changelogReader();
 * const options: ReadOptions = { at: "tail", signal: AbortSignal.timeout(60_000) };
 * for await (const { writer } of reader.ranges([{}], options)) console.log(writer);
 * ```
 */
export interface ReadOptions {
  /** Which files may be read, and how far: those of a checkpoint, or everything durable. @default "tail" */
  readonly at?: At;
  /** Stops the read. @default never */
  readonly signal?: AbortSignal;
}

/**
 * Reads change files by what one knows of them: where persisted change sets lie, the file, or ranges of key groups and
 * offsets. Any number of reads may run at once. Each reads a block of a file once, whatever it is wanted for, in order,
 * with the next bytes on their way, and holds some MiB at a time. Checksums are checked as in a restore.
 *
 * The iterations throw `object-not-found` for what is not there, `writer-not-found`, `checkpoint-not-found`,
 * `truncated` for a first offset that was given up, `corrupt`, `changes-lost`, `storage-unavailable`, `storage-denied`;
 * `closed` once the reader is closed; and the signal's reason.
 *
 * Seed: the reader of `StateChangelogHandle`s.
 *
 * @example Read back what was persisted, and give three key-group ranges to whoever takes over
 * ```ts
 * import { type ChangelogReader, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const totals = job.writer("totals");
 * for (let keyGroup = 0; keyGroup < 6; keyGroup++) totals.append(keyGroup, new Uint8Array(1));
 * const { segments } = await totals.persist();
 *
 * await using reader: ChangelogReader = job.changelogReader();
 * let count = 0;
 * for await (const slice of reader.segments(segments)) count += slice.count;
 * console.assert(count === 6);
 *
 * const counts = [0, 0, 0];
 * const ranges = [[0, 1], [2, 3], [4, 5]].map(([from, to]) => ({ keyGroups: [from, to] as const }));
 * for await (const slice of reader.ranges(ranges, { at: "tail" })) counts[slice.range] += slice.count;
 * console.assert(counts.join() === "2,2,2");
 * ```
 */
export interface ChangelogReader extends AsyncDisposable {
  /**
   * Reads change sets by where they lie.
   *
   * @param segments What {@link Writer.persist} answered; read in this order.
   * @param options Which files may be read. @default {}
   * @returns The changes of all segments.
   */
  segments(
    segments: readonly PersistedSegment[],
    options?: ReadOptions,
  ): AsyncIterable<RestoredSlice>;
  /**
   * Reads a change file as it stands, change sets included that do not count any more.
   *
   * @param key The file's key.
   * @param options Which files may be read, and what of it is wanted. @default {}
   * @returns The file's changes, in its order.
   */
  file(key: string, options?: ReadOptions & ChangeRange): AsyncIterable<RestoredSlice>;
  /**
   * Reads several ranges in one go: what a restore would return for each, every slice with the range it is for. Ranges
   * may overlap.
   *
   * @param ranges What is wanted.
   * @param options What to read. @default {}
   * @returns The changes of all ranges, in order within each writer.
   */
  ranges(ranges: readonly ChangeRange[], options?: ReadOptions): AsyncIterable<RangedSlice>;
  /** Ends every read. Idempotent. */
  close(): Promise<void>;
}
