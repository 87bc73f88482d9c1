/**
 * Which local copies are still needed. Seed: `LocalChangelogRegistry`.
 * Owns: the last checkpoint that uses each copy. Does not own: making copies, deleting them.
 * @module
 */
import type { Deleter } from "./deleter.ts";

/**
 * Knows local copies, each with the last checkpoint that uses it. Seed: `LocalChangelogRegistry`.
 *
 * A checkpoint that fails changes nothing: what it would have used is used by the next one, or goes with that. So what
 * earlier checkpoints use stays in any case.
 *
 * @example
 * ```ts
 * import { LocalChangelogRegistry } from "@tidemark/tidemark";
 *
 * const deleted: string[] = [];
 * const registry = new LocalChangelogRegistry({ discard: (keys) => void deleted.push(...keys) });
 * for (const key of ["a", "b"]) registry.register(key, 1);
 * for (const key of ["b", "c"]) registry.register(key, 2);
 * registry.discardUpToCheckpoint(2);
 * console.assert(deleted.join() === "a" && registry.has("b"));
 * ```
 */
export class LocalChangelogRegistry {
  readonly #deleter: Deleter;
  readonly #lastUses = new Map<string, number>();

  /**
   * Makes a registry that knows no copy.
   *
   * @param deleter Deletes local copies.
   */
  constructor(deleter: Deleter) {
    this.#deleter = deleter;
  }

  /**
   * Whether the copy is known.
   *
   * @param key Key of the change file, and of its copy.
   */
  has(key: string): boolean {
    return this.#lastUses.has(key);
  }

  /**
   * A checkpoint uses the copy.
   *
   * @param key Key of the change file, and of its copy.
   * @param checkpoint Counts checkpoints, those in progress included.
   */
  register(key: string, checkpoint: number): void {
    this.#lastUses.set(key, Math.max(checkpoint, this.#lastUses.get(key) ?? checkpoint));
  }

  /**
   * A checkpoint was published: copies that only earlier ones use are deleted.
   *
   * @param checkpoint Counts checkpoints, as in `register`.
   */
  discardUpToCheckpoint(checkpoint: number): void {
    this.#discard((_key, lastUse) => lastUse < checkpoint);
  }

  /**
   * Deletes a copy that nobody will need any more.
   *
   * @param key Key of the copy; one that is not known is fine.
   */
  discard(key: string): void {
    if (this.#lastUses.has(key)) this.#discard((other) => other === key);
  }

  /**
   * Deletes all copies but some: the job goes on without the others.
   *
   * @param keys Keys of the copies that stay.
   */
  retain(keys: ReadonlySet<string>): void {
    this.#discard((key) => !keys.has(key));
  }

  /** Forgets everything, and deletes nothing: the next open finds the copies again. Idempotent. */
  close(): void {
    this.#lastUses.clear();
  }

  #discard(isDone: (key: string, lastUse: number) => boolean): void {
    const keys = [...this.#lastUses].flatMap(([key, last]) => isDone(key, last) ? [key] : []);
    for (const key of keys) this.#lastUses.delete(key);
    if (keys.length > 0) this.#deleter.discard(keys);
  }
}
