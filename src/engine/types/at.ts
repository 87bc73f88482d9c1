/** What is read, or gone back to. @module */

/**
 * Where a restore or a resume starts: the newest checkpoint of the job's line (`latest`), everything that is durable
 * (`tail`), or a checkpoint by its uuid.
 *
 * @example
 * ```ts
 * import { type At, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { uuid } = await job.checkpoint();
 * const places: At[] = ["latest", "tail", uuid];
 * for (const at of places) console.assert((await job.resume({ at })).writers.length === 0);
 * ```
 */
export type At = "latest" | "tail" | (string & Record<never, never>);
