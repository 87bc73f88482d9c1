/** Writers, and what they answer. @module */
import type { Change, EncodedChanges, KeyGroupRange } from "./change.ts";
import type { WaitOptions } from "./wait.ts";

/**
 * How a writer stands.
 *
 * @example
 * ```ts
 * import { openStore, type WriterPosition } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * const [position]: WriterPosition[] = await job.writers();
 * console.assert(position.nextOffset === 1 && position.durableOffset === 0);
 * ```
 */
export interface WriterPosition {
  /** The writer's name. */
  readonly writer: string;
  /** Key groups that it takes. */
  readonly keyGroups: KeyGroupRange;
  /** Offset that the next change gets. */
  readonly nextOffset: number;
  /** Every change below it is durable. Of a job opened for reading: is there to be read. */
  readonly durableOffset: number;
  /** Sequence number of the active change set. */
  readonly sequenceNumber: number;
  /** Whether it takes nothing more: it was closed or retired. @default false */
  readonly isClosed?: boolean;
}

/**
 * What {@link Writer.appendAt} answers.
 *
 * @example
 * ```ts
 * import { type AppendResult, encodeChanges, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const writer = (await store.job("orders")).writer("totals");
 * const changes = encodeChanges([{ keyGroup: 0, data: new Uint8Array([1]) }]);
 * const first: AppendResult = await writer.appendAt(0, changes);
 * const again: AppendResult = await writer.appendAt(0, changes); // taken once
 * console.assert(first.nextOffset === 1 && again.nextOffset === 1 && writer.nextOffset === 1);
 * ```
 */
export interface AppendResult {
  /** Offset of the first change of this append. */
  readonly offset: number;
  /** Offset after its last change. */
  readonly nextOffset: number;
  /** Sequence number of the change set that the changes joined; the active one's when they were there before. */
  readonly sequenceNumber: number;
  /** What was waited for. */
  readonly ack: "durable" | "buffered";
  /** False when the changes were appended before, and can no longer be compared: they were truncated. */
  readonly verified?: false;
}

/**
 * Options of {@link Writer.appendAt}.
 *
 * @example
 * ```ts
 * import { type AppendAtOptions, encodeChanges, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { run } = await job.resume();
 * const options: AppendAtOptions = { run, ack: "buffered" };
 * const changes = encodeChanges([{ keyGroup: 0, data: new Uint8Array([1]) }]);
 * const { ack } = await job.writer("totals").appendAt(0, changes, options);
 * console.assert(ack === "buffered");
 * ```
 */
export interface AppendAtOptions {
  /** Whether to wait until the changes are durable. @default "durable" */
  ack?: "durable" | "buffered";
  /** The pipeline's run; required with an offset as soon as the job was resumed once. @default none */
  run?: number;
  /** Stops waiting for durability; the changes stay appended. @default never */
  signal?: AbortSignal;
}

/**
 * What {@link Writer.persist} answers: every change set of `[from, next)` is durable.
 *
 * @example
 * ```ts
 * import { openStore, type PersistResult } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const writer = (await store.job("orders")).writer("totals");
 * writer.append(0, new Uint8Array([1]));
 * const { from, next, durableOffset }: PersistResult = await writer.persist();
 * console.assert(from === 0 && next === 1 && durableOffset === 1);
 * ```
 */
export interface PersistResult {
  /** Sequence number of the first change set that was asked for. */
  readonly from: number;
  /** Sequence number that the next change set gets. */
  readonly next: number;
  /** Every change below it is durable. */
  readonly durableOffset: number;
  /** Where its change sets lie, in order; those that a published checkpoint owns are left out. */
  readonly segments: readonly PersistedSegment[];
  /** Whether every segment has a local copy, see setting `localRecoveryPath`; not when there is no segment. */
  readonly isLocal: boolean;
}

/**
 * Where a persisted change set lies. Seed: `UploadResult`.
 *
 * @example
 * ```ts
 * import { openStore, type PersistedSegment } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const writer = (await store.job("orders")).writer("totals");
 * writer.append(0, new Uint8Array([1]));
 * const [segment]: readonly PersistedSegment[] = (await writer.persist()).segments;
 * console.assert(segment.key.startsWith("jobs/orders/changelog/main/"));
 * ```
 */
export interface PersistedSegment {
  /** Name of the writer. */
  readonly writer: string;
  /** Sequence number of the change set. */
  readonly sequenceNumber: number;
  /** Key of the change file. */
  readonly key: string;
  /** Number of the batch in the file. */
  readonly batch: number;
  /** Bytes of the set's encoded changes. */
  readonly byteLength: number;
  /** Key of the local copy, below `localRecoveryPath`. @default there is none */
  readonly localKey?: string;
}

/**
 * One ordered changelog of a job, within one run: after a {@link Job.resume} it throws `fenced`, and is to be asked
 * for again. It throws `closed` once its job, its store or it itself is closed.
 *
 * An append stays in memory until somebody asks for it to be durable, or until the writer holds
 * `preemptivePersistBytes`. Changes are durable in order: never one without all that were appended before it.
 *
 * @example
 * ```ts
 * import { openStore, type Writer } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const totals: Writer = job.writer("totals");
 * totals.append(0, new TextEncoder().encode("apples +3"));
 * totals.append(0, new TextEncoder().encode("pears +1"));
 * await totals.persist();
 * console.assert(totals.durableOffset === 2);
 * ```
 */
export interface Writer {
  /** Its name. */
  readonly id: string;
  /** Key groups that it takes, besides -1 for metadata. */
  readonly keyGroups: KeyGroupRange;
  /** Offset that the next change gets. */
  readonly nextOffset: number;
  /** Every change below it is durable. */
  readonly durableOffset: number;

  /**
   * Appends one change. Synchronous: copies the bytes, writes nothing.
   *
   * @param keyGroup -1 (metadata), or one of the writer's key groups.
   * @param data The bytes, at most `changeBytesMax`.
   * @returns The change's offset.
   * @throws {RangeError} The key group is none of the writer's.
   * @throws {TidemarkError} `change-too-large`; `backpressure` when the job holds too much that is not durable, see
   * {@link Job.availability}; `fenced`, `closed`. Nothing was taken then.
   */
  append(keyGroup: number, data: Uint8Array): number;
  /**
   * Appends metadata: a change of key group -1.
   *
   * @param data The bytes, at most `changeBytesMax`.
   * @returns The change's offset.
   * @throws {TidemarkError} As {@link Writer.append}.
   */
  appendMeta(data: Uint8Array): number;
  /**
   * Appends many changes as one unit: they are durable together, or none of them. Synchronous: copies the bytes, once.
   *
   * @param changes In order.
   * @returns The offset of the first.
   * @throws {RangeError} A key group is none of the writer's.
   * @throws {TidemarkError} As {@link Writer.appendEncoded}.
   */
  appendBatch(changes: Iterable<Change>): number;
  /**
   * Appends many changes as one unit: they are durable together, or none of them. Synchronous.
   *
   * @param changes Taken over without a copy; their bytes must not be changed any more.
   * @returns The offset of the first.
   * @throws {RangeError} A key group is none of the writer's.
   * @throws {TidemarkError} As {@link Writer.append}; `change-too-large` for more than 1,023 MiB at once.
   */
  appendEncoded(changes: EncodedChanges): number;
  /**
   * Appends at an expected offset, so that a repeated append is taken once: what was appended there before is
   * compared, and acknowledged like the first time.
   *
   * @param expected Offset of the first change; undefined: at the end, whatever that is.
   * @param changes As for {@link Writer.appendEncoded}.
   * @param options What to wait for. @default {}
   * @returns Where the changes lie, once they are durable (or, with `ack: "buffered"`, in memory).
   * @throws {TidemarkError} `offset-mismatch` beyond the end, with the end in `details.expectedOffset`;
   * `offset-conflict` where other changes stand; `run-required`, `fenced`; `backpressure`, `change-too-large`,
   * `closed`; and what the storage answered when the changes could not be made durable. They stay appended then.
   * @throws The signal's reason.
   */
  appendAt(
    expected: number | undefined,
    changes: EncodedChanges,
    options?: AppendAtOptions,
  ): Promise<AppendResult>;
  /**
   * Waits until every change set of `[from, active)` is durable. Never uploads one twice; those that failed before
   * are tried again. Seed: what is uploaded is an `UploadTask`.
   *
   * @param from A sequence number, not above the active one. @default the first that is not durable
   * @param options What ends the wait; what was handed over goes on its way to the disk. @default {}
   * @returns What is durable now, and where it lies.
   * @throws {RangeError} `from` is above the active change set, or no whole number.
   * @throws {TidemarkError} `truncated` when `from` is below what was truncated; `fenced`, `closed`; and what the
   * storage answered: `storage-full`, `storage-unavailable`, `storage-denied`. The same call may be made again.
   */
  persist(from?: number, options?: WaitOptions): Promise<PersistResult>;
  /**
   * Rolls the active change set over, unless it is empty. Nothing is written.
   *
   * @returns Sequence number of the change set that is active now: what was appended before lies below it.
   * @throws {TidemarkError} `fenced`, `closed`
   */
  nextSequenceNumber(): number;
  /**
   * Gives up what lies below a change set, with the next published checkpoint: the pipeline holds it elsewhere.
   * Below what was given up before, it does nothing.
   *
   * @param to A number that `nextSequenceNumber` or a checkpoint of this run gave.
   * @throws {RangeError} `to` is no such number.
   * @throws {TidemarkError} `fenced`, `closed`
   */
  truncate(to: number): void;
  /**
   * Ends the writer at a change set, with the next published checkpoint: what lies at or above it is given up, and
   * nothing is appended any more. Checkpoints after that one list the writer no more, see {@link Job.retireWriter}.
   *
   * @param from A number that `nextSequenceNumber` or a checkpoint of this run gave.
   * @throws {RangeError} `from` is no such number.
   * @throws {TidemarkError} `fenced`, `closed`
   */
  truncateAndClose(from: number): void;
}
