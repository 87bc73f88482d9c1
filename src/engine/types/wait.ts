/** What ends a wait. @module */

/**
 * What ends the wait for something that takes time. It is not taken back by that: what was begun goes on, and may take
 * effect. A deadline is a signal, too.
 *
 * @example
 * ```ts
 * import { openStore, type WaitOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { uuid } = await job.checkpoint();
 * const options: WaitOptions = { signal: AbortSignal.timeout(60_000) };
 * await job.pin(uuid, "before the migration", options);
 * await job.unpin(uuid, options);
 * ```
 */
export interface WaitOptions {
  /** Ends the wait with its reason; one that was aborted before begins nothing. @default never */
  readonly signal?: AbortSignal;
}
