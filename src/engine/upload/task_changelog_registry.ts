/**
 * Counts how many change sets still need each change file. Seed: `TaskChangelogRegistry`.
 * Owns: the counts, and handing what nobody needs to the deleter.
 * Does not own: deleting, checkpoints, what they name.
 * @module
 */
import type { ChangeFileFollower, FollowedFile } from "./change_file_follower.ts";
import type { Deleter } from "./deleter.ts";

interface Tracked {
  /** Change sets that still need the file. */
  references: number;
  /** Who else keeps it: it is still written to, or a checkpoint in progress is about to name it. */
  holds: number;
  /** Whether somebody else decides about the file: a published checkpoint needs it. */
  isOwnedElsewhere: boolean;
}

/**
 * References to change files, by key.
 *
 * A file is handed to the deleter once, when it is no longer written to, no change set and no checkpoint in progress
 * needs it, and no published checkpoint owns it. What is owned elsewhere goes on being counted, and is forgotten
 * silently at the end.
 */
export class TaskChangelogRegistry implements ChangeFileFollower {
  readonly #deleter: Deleter;
  readonly #files = new Map<string, Tracked>();

  /** @param deleter Gets the files that nobody needs. */
  constructor(deleter: Deleter) {
    this.#deleter = deleter;
  }

  /** Files that are tracked. */
  get trackedFiles(): number {
    return this.#files.size;
  }

  /** Keys of the files that a change set, a checkpoint in progress or the log itself needs. */
  get trackedKeys(): Iterable<string> {
    return this.#files.keys();
  }

  /** Holds a file that begins, as batches may still be added to it when all its change sets are released. */
  begin(key: string): FollowedFile {
    return { end: this.#hold([key]) };
  }

  /**
   * Counts change sets that a file holds; a file that grows is counted batch by batch.
   *
   * @param references How many; above 0.
   */
  startTracking(key: string, references: number): void {
    checkReferences("track", key, references);
    this.#find(key).references += references;
  }

  /**
   * Lets go of change sets of a file. One that is not tracked is fine: it is owned elsewhere.
   *
   * @param references How many; above 0. @default 1
   */
  release(key: string, references = 1): void {
    checkReferences("release", key, references);
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
    if (file !== undefined) file.isOwnedElsewhere = true;
  }

  /**
   * Holds files for a checkpoint in progress; the answer lets them go, once. Those that are not tracked are owned
   * elsewhere already.
   */
  pin(keys: Iterable<string>): () => void {
    return this.#hold([...new Set(keys)].filter((key) => this.#files.has(key)));
  }

  #hold(keys: readonly string[]): () => void {
    for (const key of keys) this.#find(key).holds += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      for (const key of keys) {
        const file = this.#files.get(key)!;
        file.holds -= 1;
        this.#letGo(key, file);
      }
    };
  }

  #find(key: string): Tracked {
    let file = this.#files.get(key);
    if (file === undefined) {
      file = { references: 0, holds: 0, isOwnedElsewhere: false };
      this.#files.set(key, file);
    }
    return file;
  }

  #letGo(key: string, file: Tracked): void {
    if (file.references > 0 || file.holds > 0) return;
    this.#files.delete(key);
    if (!file.isOwnedElsewhere) this.#deleter.discard([key]);
  }
}

function checkReferences(action: string, key: string, references: number): void {
  if (Number.isSafeInteger(references) && references >= 1) return;
  throw new RangeError(
    `Cannot ${action} ${references} change sets of ${key}: wants a whole number from 1 on`,
  );
}
