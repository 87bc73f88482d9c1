/**
 * Counts how many change sets still need each change file. Seed: `TaskChangelogRegistry`.
 * Owns: the counts, and handing what nobody needs to the deleter. Does not own: deleting, checkpoints.
 * @module
 */
import type { Deleter } from "./deleter.ts";

interface Tracked {
  /** Change sets that still need the file. */
  references: number;
  /** Checkpoints in progress that hold the file. */
  pins: number;
  /** Whether somebody else decides about the file: a published checkpoint needs it. */
  isOwnedElsewhere: boolean;
}

/** References to change files, by key. */
export class TaskChangelogRegistry {
  readonly #deleter: Deleter;
  readonly #files = new Map<string, Tracked>();

  constructor(deleter: Deleter) {
    this.#deleter = deleter;
  }

  /** Files that are tracked. */
  get trackedFiles(): number {
    return this.#files.size;
  }

  /**
   * Counts change sets that a file holds; a file that grows is counted batch by batch.
   *
   * @param references How many; above 0.
   */
  startTracking(key: string, references: number): void {
    if (!Number.isSafeInteger(references) || references < 1) {
      throw new RangeError(`Cannot track ${key} with ${references} change sets: wants 1 or more`);
    }
    const file = this.#files.get(key);
    if (file === undefined) {
      this.#files.set(key, { references, pins: 0, isOwnedElsewhere: false });
    } else {
      file.references += references;
    }
  }

  /** Lets go of change sets of a file. One that is not tracked is fine: it is owned elsewhere for good. */
  release(key: string, references = 1): void {
    const file = this.#files.get(key);
    if (file === undefined) return;
    if (references > file.references) {
      throw new RangeError(
        `Cannot release ${references} change sets of ${key}: ${file.references} are tracked`,
      );
    }
    file.references -= references;
    this.#letGo(key, file);
  }

  /** A published checkpoint owns the file from now on: it is never handed to the deleter from here. */
  stopTracking(key: string): void {
    const file = this.#files.get(key);
    if (file === undefined) return;
    file.isOwnedElsewhere = true;
    this.#letGo(key, file);
  }

  /** Holds files for a checkpoint in progress; the answer lets them go, once. */
  pin(keys: Iterable<string>): () => void {
    const pinned = [...new Set(keys)].filter((key) => this.#files.has(key));
    for (const key of pinned) this.#files.get(key)!.pins += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      for (const key of pinned) {
        const file = this.#files.get(key)!;
        file.pins -= 1;
        this.#letGo(key, file);
      }
    };
  }

  #letGo(key: string, file: Tracked): void {
    if (file.references > 0 || file.pins > 0) return;
    this.#files.delete(key);
    if (!file.isOwnedElsewhere) this.#deleter.discard([key]);
  }
}
