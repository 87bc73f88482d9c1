/**
 * Which local copies are still needed. Seed: `LocalChangelogRegistry`.
 * Owns: the last checkpoint that uses each copy. Does not own: making copies, deleting them.
 * @module
 */
import type { Deleter } from "./deleter.ts";

/**
 * Local copies, each with the last checkpoint that uses it.
 *
 * A checkpoint that fails changes nothing: what it would have used is used by the next one, or goes with that. So what
 * earlier checkpoints use stays in any case.
 */
export class LocalChangelogRegistry {
  readonly #deleter: Deleter;
  readonly #lastUses = new Map<string, number>();

  /** @param deleter Deletes local copies. */
  constructor(deleter: Deleter) {
    this.#deleter = deleter;
  }

  /** Whether the copy is known. */
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

  /** A checkpoint was published: copies that only earlier ones use are deleted. */
  discardUpToCheckpoint(checkpoint: number): void {
    this.#discard((_key, lastUse) => lastUse < checkpoint);
  }

  /** Nobody will need the copy any more. */
  discard(key: string): void {
    if (this.#lastUses.has(key)) this.#discard((other) => other === key);
  }

  /** All copies but these are deleted: the job goes on without the others. */
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
