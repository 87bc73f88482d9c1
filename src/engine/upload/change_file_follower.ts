/**
 * Follows the files of a log. Nothing that a follower does may fail the log or hold it up.
 *
 * @example
 * ```ts
 * import type { ChangeFileFollower } from "@tidemark/tidemark";
 *
 * const sizes = new Map<string, number>();
 * const follower: ChangeFileFollower = {
 *   begin: (key) => ({
 *     write: (bytes) => void sizes.set(key, (sizes.get(key) ?? 0) + bytes.length),
 *     end: () => console.log(`${key} has ended`),
 *   }),
 * };
 * follower.begin("file").write?.(new Uint8Array(3));
 * console.assert(sizes.get("file") === 3);
 * ```
 */
export interface ChangeFileFollower {
  /**
   * A file begins, under a new key.
   *
   * @param key Key of the file.
   * @returns Who is told what becomes of it.
   */
  begin(key: string): FollowedFile;
}

/**
 * Follows one file.
 *
 * @example
 * ```ts
 * import type { FollowedFile } from "@tidemark/tidemark";
 *
 * let isOpen = true;
 * const file: FollowedFile = { end: () => void (isOpen = false) };
 * file.end();
 * console.assert(!isOpen);
 * ```
 */
export interface FollowedFile {
  /**
   * Bytes are about to be written, after all those before. They may be reused when it returns.
   *
   * @param bytes What is written.
   * @default nothing is done
   */
  write?(bytes: Uint8Array): void;
  /** Nothing more comes: the file was sealed, or given up. Called once. */
  end(): void;
}
