/** Changes, as they go in. @module */

/**
 * One change: a key group and bytes. What the bytes mean is the pipeline's own.
 *
 * @example
 * ```ts
 * import { type Change, encodeChanges } from "@tidemark/tidemark";
 *
 * const change: Change = { keyGroup: 7, data: new TextEncoder().encode("apples +3") };
 * console.assert(encodeChanges([change]).count === 1);
 * ```
 */
export interface Change {
  /** Group of keys that it belongs to: 0 to 2^31 - 1, or -1 for metadata. */
  readonly keyGroup: number;
  /** The bytes: 0 to 256 MiB. */
  readonly data: Uint8Array;
}

/**
 * A range of key groups, both ends included: 0 to 2^31 - 1, the lower first.
 *
 * @example
 * ```ts
 * import { type KeyGroupRange, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const keyGroups: KeyGroupRange = [0, 63]; // this subtask's share
 * console.assert(job.writer("totals-0", { keyGroups }).keyGroups[1] === 63);
 * ```
 */
export type KeyGroupRange = readonly [from: number, to: number];

/**
 * Changes that are already encoded: a CBOR sequence (RFC 8742) of `[keyGroup, bytes]` in preferred encoding
 * (RFC 8949 section 4.1). Made by {@link encodeChanges}, which checks them.
 *
 * @example
 * ```ts
 * import { type EncodedChanges, encodeChanges, openStore } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const job = await store.job("orders");
 * const changes: EncodedChanges = encodeChanges([
 *   { keyGroup: 1, data: new Uint8Array([1]) },
 *   { keyGroup: 2, data: new Uint8Array([2]) },
 * ]);
 * console.assert(job.writer("totals").appendEncoded(changes) === 0);
 * ```
 */
export interface EncodedChanges {
  /** The bytes; owned by the engine from the call on. */
  readonly bytes: Uint8Array;
  /** How many changes there are. */
  readonly count: number;
  /** Least key group of them; 0 when there are none. */
  readonly keyGroupMin: number;
  /** Largest key group of them; 0 when there are none. */
  readonly keyGroupMax: number;
}
