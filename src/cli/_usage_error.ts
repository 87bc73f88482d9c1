/** A command line that can't be understood. */

/** Says what is wrong with the arguments, and where help is. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(message: string, readonly command?: string) {
    super(message);
  }
}
