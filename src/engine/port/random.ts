/** Chance. @module */

/**
 * Chance, passed in so that tests can replay it. Names are made from it, so it has to be good: no two processes may
 * get the same bytes.
 *
 * @example
 * ```ts
 * import type { Random } from "@tidemark/tidemark";
 *
 * const random: Random = { fill: (bytes) => void crypto.getRandomValues(bytes) };
 * const bytes = new Uint8Array(16);
 * random.fill(bytes);
 * console.assert(bytes.some((byte) => byte !== 0));
 * ```
 */
export interface Random {
  /**
   * Fills bytes with random ones.
   *
   * @param bytes All of it is filled.
   */
  fill(bytes: Uint8Array): void;
}
