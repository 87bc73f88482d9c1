/** Changes, as they come back. @module */
import type { Change, KeyGroupRange } from "./change.ts";
import type { At } from "./at.ts";

/**
 * Options of {@link JobReader.restore}.
 *
 * @example
 * ```ts
 * import { openStore, type RestoreOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const totals = job.writer("totals");
 * for (const keyGroup of [1, 2, 3]) totals.append(keyGroup, new Uint8Array([keyGroup]));
 * await totals.persist();
 * const options: RestoreOptions = { at: "tail", writers: ["totals"], keyGroups: [2, 3], from: 2 };
 * for await (const { offset, keyGroup } of job.restore(options)) {
 *   console.assert(offset === 2 && keyGroup === 3);
 * }
 * ```
 */
export interface RestoreOptions {
  /** What to read: a checkpoint, or everything durable. @default "latest" */
  at?: At;
  /**
   * Whether to read the next older checkpoint of the line when the wanted one can't be read whole. Each is verified
   * first, and each that is passed by is logged as an error. Not for `tail`. @default false
   */
  fallback?: boolean;
  /** Which writers, in this order where they don't mix. @default all */
  writers?: readonly string[];
  /** Which key groups, metadata (-1) only when it lies in the range. @default all */
  keyGroups?: KeyGroupRange;
  /** First offset, of every writer. @default 0 */
  from?: number;
  /** Stops the restore. @default never */
  signal?: AbortSignal;
}

/**
 * A change that restore returns. Its data is the caller's own, but may share a buffer with the data of its neighbours:
 * whoever transfers the buffer takes a copy first.
 *
 * @example
 * ```ts
 * import { openStore, type RestoredChange } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new TextEncoder().encode("apples +3"));
 * await job.checkpoint();
 * const changes: RestoredChange[] = [];
 * for await (const change of job.restore()) changes.push(change);
 * console.assert(new TextDecoder().decode(changes[0].data) === "apples +3");
 * ```
 */
export interface RestoredChange extends Change {
  /** Name of its writer. */
  readonly writer: string;
  /** Its offset. */
  readonly offset: number;
}

/**
 * Encoded changes of one writer that lie next to each other. Valid until the next one is asked for.
 *
 * @example
 * ```ts
 * import { openStore, type RestoredSlice } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([5]));
 * await job.checkpoint();
 * const copies: RestoredSlice[] = [];
 * for await (const slice of job.restore().slices()) {
 *   copies.push({ ...slice, bytes: slice.bytes.slice() });
 * }
 * console.assert(copies[0].bytes.join() === "130,0,65,5"); // [0, h'05']
 * ```
 */
export interface RestoredSlice {
  /** Name of the writer. */
  readonly writer: string;
  /** Offset of the first change in it; the others follow without a gap. */
  readonly firstOffset: number;
  /** How many changes there are. */
  readonly count: number;
  /** A CBOR sequence (RFC 8742) of `[keyGroup, bytes]`. */
  readonly bytes: Uint8Array;
}

/**
 * Ends a restore, so that a cut one is never taken for whole.
 *
 * @example
 * ```ts
 * import { openStore, type RestoreTrailer } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * await job.checkpoint();
 * const restore = job.restore();
 * for await (const { offset } of restore) console.log(offset);
 * const trailer: RestoreTrailer = await restore.trailer;
 * console.assert(trailer.count === 1 && trailer.confirmed === 1);
 * ```
 */
export interface RestoreTrailer {
  /** How many changes were returned. */
  readonly count: number;
  /** XXH64 of all bytes of the encoded changes, in 16 hex digits. */
  readonly hash: string;
  /**
   * How many of the changes are known to stay: all of a checkpoint's, and of an owner's tail; of a tail read beside its
   * owner those that are proven to be on disk.
   */
  readonly confirmed: number;
}

/**
 * A restore in progress: iterate it once, by change or by slice; the trailer is there at the end. Within a writer
 * the changes come in order; writers may mix. Memory is bounded: a block at a time.
 *
 * The iteration throws `checkpoint-not-found`, `writer-not-found`, `corrupt`, `changes-lost`, `snapshot-expired` when
 * what a reader was reading was collected, `storage-unavailable`, `storage-denied`; `aborted` or the signal's reason; and a `TypeError` when it is begun twice.
 *
 * @example
 * ```ts
 * import { openStore, type RestoreStream } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * job.writer("totals").append(0, new Uint8Array([1]));
 * await job.checkpoint();
 * const restore: RestoreStream = job.restore();
 * let bytes = 0;
 * for await (const slice of restore.slices()) bytes += slice.bytes.length;
 * console.assert(bytes === 4 && (await restore.trailer).count === 1);
 * ```
 */
export interface RestoreStream extends AsyncIterable<RestoredChange> {
  /**
   * The same restore as encoded slices: the fast way.
   *
   * @returns The slices; each is valid until the next one is asked for.
   */
  slices(): AsyncIterable<RestoredSlice>;
  /** Settles when the iteration has ended, and rejects when it failed or was left early (`aborted`). */
  readonly trailer: Promise<RestoreTrailer>;
}
