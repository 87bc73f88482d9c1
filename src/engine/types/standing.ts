/** Where a job stands, seen from outside. @module */

/**
 * Where a job stands, whoever owns it.
 *
 * @example
 * ```ts
 * import { type JobStanding, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * await (await store.job("orders")).resume();
 * const { run, head }: JobStanding = await store.standing("orders");
 * console.assert(run === 2 && head === null);
 * ```
 */
export interface JobStanding {
  /** Number of the newest generation of its catalog. */
  readonly generation: number;
  /** Epoch of the newest owner. */
  readonly epoch: number;
  /** The pipeline's run. */
  readonly run: number;
  /** Uuid of the checkpoint that the job goes on from; null before the first. */
  readonly head: string | null;
  /**
   * Bytes of its change files. While neither they nor the generation change, there is nothing new to be read: so whoever
   * follows a job need not read its tail again and again.
   */
  readonly changeBytes: number;
  /** The process that has the job, or had it last. @default not known: a store that keeps no locks */
  readonly owner?: JobOwner;
}

/**
 * A process that has a job.
 *
 * @example
 * ```ts
 * import type { JobOwner } from "@tidemark/tidemark";
 *
 * const tell = ({ pid, host, isAlive }: JobOwner): string =>
 *   `process ${pid} on ${host}${isAlive ? "" : ", which has ended"}`;
 * const owner = { host: "a", pid: 7, runtime: "node 20", seenAtMs: 0, isAlive: true };
 * console.assert(tell(owner) === "process 7 on a");
 * ```
 */
export interface JobOwner {
  /** Name of its machine. */
  readonly host: string;
  /** Its process id. */
  readonly pid: number;
  /** What it runs on. */
  readonly runtime: string;
  /** When it last said that it lives, in milliseconds since 1970. */
  readonly seenAtMs: number;
  /** Whether it said so within the last seconds, and has not let go. */
  readonly isAlive: boolean;
}
