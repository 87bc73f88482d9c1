/**
 * The port to the job's one deleter (DESIGN, protocol *Delete*): whoever no longer needs an object says so here, and
 * deletes nothing itself.
 * @module
 */

/** Takes what nobody in the upload system needs any more. */
export interface Deleter {
  /**
   * Marks objects for deletion. Answers at once; whether and when they go is the deleter's own affair.
   *
   * @param keys Keys of the objects.
   */
  discard(keys: readonly string[]): void;
}
