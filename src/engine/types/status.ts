/** How a store is. @module */
import type { ErrorCode } from "../errors.ts";

/**
 * How a store is, for whoever watches it.
 *
 * @example
 * ```ts
 * import { openStore, type StoreStatus } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await store.job("orders");
 * const status: StoreStatus = await store.status();
 * console.assert(status.problem === undefined && !status.isFull && status.jobs[0].isServing);
 * ```
 */
export interface StoreStatus {
  /** Bytes that can still be written where the store is. @default not known there */
  readonly bytesFree?: number;
  /** Bytes of the place that the store is in, whoever has them. @default not known there */
  readonly bytesTotal?: number;
  /** Bytes of all objects of the store. @default not counted: neither the store nor its jobs are limited */
  readonly bytesUsed?: number;
  /** Bytes that the store may take: `storeBytesMax`. @default it is not limited */
  readonly bytesMax?: number;
  /** Whether there is no room: the disk is full, or a limit refuses what came last. */
  readonly isFull: boolean;
  /**
   * What keeps the store from being used: it is not where it was, or can't be written. Looked for by a small write, at
   * most every 10 s; in a store opened for reading, by reading the marker. @default nothing does
   */
  readonly problem?: StatusProblem;
  /** Jobs that are open here, in order of name. */
  readonly jobs: readonly OpenJobStatus[];
}

/**
 * Why something can't be used.
 *
 * @example
 * ```ts
 * import type { StatusProblem } from "@tidemark/tidemark";
 *
 * const tell = ({ code, message }: StatusProblem): string => `${code}: ${message}`;
 * console.assert(tell({ code: "storage-full", message: "no room" }) === "storage-full: no room");
 * ```
 */
export interface StatusProblem {
  /** The code of the error. */
  readonly code: ErrorCode;
  /** What it says, for people. */
  readonly message: string;
}

/**
 * How a job is that is open.
 *
 * @example
 * ```ts
 * import { openStore, type OpenJobStatus } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await store.job("orders");
 * const [job]: readonly OpenJobStatus[] = (await store.status()).jobs;
 * console.assert(job.job === "orders" && job.run === 1);
 * ```
 */
export interface OpenJobStatus {
  /** The job's name. */
  readonly job: string;
  /** Epoch of this owner. */
  readonly epoch: number;
  /** The pipeline's run. */
  readonly run: number;
  /** Whether it takes changes. */
  readonly isServing: boolean;
  /** Why it takes none: `fenced` where another owner has taken over; it is opened again by the next call of `job`. */
  readonly problem?: StatusProblem;
}
