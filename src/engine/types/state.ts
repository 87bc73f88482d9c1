/** State objects: bytes that belong to a checkpoint. @module */
import type { At } from "./at.ts";

/**
 * The content of a state object: all of it at once, or piece by piece in pieces of any size. Bytes must not change until
 * the call that takes them has settled. What an iterable throws fails the call.
 *
 * @example
 * ```ts
 * import { openStore, type StateContent } from "@tidemark/tidemark";
 *
 * async function* rows(): AsyncGenerator<Uint8Array> {
 *   for (const row of ["apples 3", "pears 5"]) yield new TextEncoder().encode(`${row}\n`);
 * }
 * const states: Record<string, StateContent> = { totals: rows(), version: new Uint8Array([1]) };
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * console.assert((await job.checkpoint({ states })).size > 0);
 * ```
 */
export type StateContent = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Where a checkpoint's state comes from: its content; `from`, a checkpoint that has a state of this name, whose object
 * is shared then, so that what has not changed costs nothing; or `written`, the uuid that {@link Job.writeState}
 * answered.
 *
 * @example
 * ```ts
 * import { openStore, type StateSource } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint({ states: { totals: new Uint8Array(1000), rules: new Uint8Array(10) } });
 * const states: Record<string, StateSource> = {
 *   totals: new Uint8Array(1001),
 *   rules: { from: "latest" },
 * };
 * await job.checkpoint({ states });
 * console.assert((await job.usage()).kinds.states.objects === 3);
 * ```
 */
export type StateSource = StateContent | { readonly from: At } | { readonly written: string };

/**
 * A state object.
 *
 * @example
 * ```ts
 * import { openStore, type StateMetadata } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * await job.checkpoint({ states: { totals: new Uint8Array(1000) } });
 * const [totals]: readonly StateMetadata[] = (await job.checkpointDetails("latest")).states;
 * console.assert(totals.name === "totals" && totals.size === 1000 && totals.storedBytes < 1000);
 * ```
 */
export interface StateMetadata {
  /** The state's name. */
  readonly name: string;
  /** The object's uuid. */
  readonly uuid: string;
  /** The object's key; `lz4 -dc` on it gives the content. */
  readonly key: string;
  /** Bytes of the content. */
  readonly size: number;
  /** Bytes that the object takes. */
  readonly storedBytes: number;
  /** XXH64 of the content: 16 hex digits. */
  readonly xxh64: string;
}

/**
 * Options of {@link JobReader.readState}.
 *
 * @example
 * ```ts
 * import { openStore, type ReadStateOptions } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const { uuid } = await job.checkpoint({ states: { totals: new Uint8Array([1, 2]) } });
 * const options: ReadStateOptions = { at: uuid };
 * for await (const bytes of job.readState("totals", options)) console.assert(bytes.length === 2);
 * ```
 */
export interface ReadStateOptions {
  /** The checkpoint: a uuid, or `latest`. @default "latest" */
  at?: At;
  /**
   * Whether to read the next older checkpoint of the line when the wanted one can't be read whole. Each is verified
   * first, and each that is passed by is logged as an error. @default false
   */
  fallback?: boolean;
  /** Stops the read. @default never */
  signal?: AbortSignal;
}
