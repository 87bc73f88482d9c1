/** How a runtime's server reads the body of a request, where it has a better way than `Request.bytes`. @module */

/** Names the method of {@link DirectBody}. */
export const READ_BODY: unique symbol = Symbol("read body");

/** Who wants to know how a body comes. */
export interface BodyProgress {
  /** The client is waited for. */
  waits(): void;
  /** So many bytes have come. */
  came(bytes: number): void;
}

/** A request whose body can be read straight into memory. */
export interface DirectBody {
  /**
   * Reads the body, once.
   *
   * @param length What `content-length` says.
   * @param take Gives memory for so many bytes.
   * @param progress Told of what has come, at least where the body is larger than 1 MiB.
   * @returns Its bytes; fewer only where it ended early without an error.
   */
  [READ_BODY]?(
    length: number,
    take: (bytes: number) => Uint8Array,
    progress: BodyProgress,
  ): Promise<Uint8Array>;
}
