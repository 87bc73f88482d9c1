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
 * Counts how many change sets still need each change file, by key. Seed: `TaskChangelogRegistry`.
 *
 * A file is handed to the deleter once, when it is no longer written to, no change set and no checkpoint in progress
 * needs it, and no published checkpoint owns it. What is owned elsewhere goes on being counted, and is forgotten
 * silently at the end.
 *
 * @example
 * ```ts
 * import { TaskChangelogRegistry } from "@tidemark/tidemark";
 *
 * const deleted: string[] = [];
 * const registry = new TaskChangelogRegistry({ discard: (keys) => void deleted.push(...keys) });
 * registry.startTracking("file", 2); // two change sets lie in it
 * const letGo = registry.pin(["file"]); // a checkpoint is being made that may need it
 * registry.release("file", 2);
 * console.assert(deleted.length === 0);
 * letGo(); // it failed
 * console.assert(deleted.join() === "file");
 * ```
 */
export class TaskChangelogRegistry implements ChangeFileFollower {
  readonly #deleter: Deleter;
  readonly #files = new Map<string, Tracked>();

  /**
   * Makes a registry that tracks nothing.
   *
   * @param deleter Gets the files that nobody needs.
   */
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

  /**
   * Holds a file that begins, as batches may still be added to it when all its change sets are released.
   *
   * @param key Key of the file.
   * @returns What is told when the file has ended.
   */
  begin(key: string): FollowedFile {
    return { end: this.#hold([key]) };
  }

  /**
   * Counts change sets that a file holds; a file that grows is counted batch by batch.
   *
   * @param key Key of the file.
   * @param references How many; above 0.
   * @throws {RangeError} `references` is no whole number from 1 on.
   */
  startTracking(key: string, references: number): void {
    checkReferences("track", key, references);
    this.#find(key).references += references;
  }

  /**
   * Lets go of change sets of a file. One that is not tracked is fine: it is owned elsewhere.
   *
   * @param key Key of the file.
   * @param references How many; above 0. @default 1
   * @throws {RangeError} More than are tracked, or no whole number from 1 on.
   */
  release(key: string, references: number = 1): void {
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

  /**
   * A published checkpoint owns the file from now on: it is never handed to the deleter from here.
   *
   * @param key Key of the file; one that is not tracked is fine.
   */
  stopTracking(key: string): void {
    const file = this.#files.get(key);
    if (file !== undefined) file.isOwnedElsewhere = true;
  }

  /**
   * Holds files for a checkpoint in progress. Those that are not tracked are owned elsewhere already.
   *
   * @param keys Keys of the files.
   * @returns What lets them go, once.
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
