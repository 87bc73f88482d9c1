/**
 * Whoever wants to know what becomes of a log's files. Nothing that a follower does may fail the log or hold it up.
 * @module
 */

/** Follows the files of a log. */
export interface ChangeFileFollower {
  /** A file begins, under a new key. */
  begin(key: string): FollowedFile;
}

/** Follows one file. */
export interface FollowedFile {
  /**
   * Bytes are about to be written, after all those before. They may be reused when it returns.
   * @default nothing is done
   */
  write?(bytes: Uint8Array): void;
  /** Nothing more comes: the file was sealed, or given up. Called once. */
  end(): void;
}
