/**
 * The port to the job's one deleter (DESIGN, protocol *Delete*): whoever no longer needs an object says so here, and
 * deletes nothing itself.
 * @module
 */

/**
 * Takes what nobody in the upload system needs any more.
 *
 * @example
 * ```ts
 * import { type Deleter, LocalChangelogRegistry } from "@tidemark/tidemark";
 *
 * const marked = new Set<string>();
 * const deleter: Deleter = { discard: (keys) => keys.forEach((key) => marked.add(key)) };
 * const registry = new LocalChangelogRegistry(deleter);
 * registry.register("copy", 1);
 * registry.discard("copy");
 * console.assert(marked.has("copy"));
 * ```
 */
export interface Deleter {
  /**
   * Marks objects for deletion. Answers at once; whether and when they go is the deleter's own affair.
   *
   * @param keys Keys of the objects.
   */
  discard(keys: readonly string[]): void;
}
