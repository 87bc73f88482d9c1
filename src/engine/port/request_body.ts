/** How a runtime's server reads the body of a request, where it has a better way than `Request.bytes`. @module */

/** Names the method of {@link DirectBody}. */
export const READ_BODY: unique symbol = Symbol("read body");

/** Up to here a body may come without anybody seeing how. */
export const WHOLE_BYTES_MAX: number = 1024 * 1024;

/** Who wants to know how a body comes. */
export interface BodyProgress {
  /** The client is waited for. */
  waits(): void;
  /** So many bytes have come. */
  came(bytes: number): void;
}

/** Memory that bodies are read into. */
export interface BodyMemory {
  /** Gives memory for so many bytes. */
  take(bytes: number): Uint8Array;
  /** Takes in what a runtime has read into memory of its own, whole; nobody else may have that. */
  adopt(bytes: Uint8Array): Uint8Array;
  /** What lay in one buffer lies in another now: some ways of reading hand memory over. */
  moved(from: ArrayBufferLike, to: ArrayBufferLike): void;
}

/** A request whose body can be read straight into memory. */
export interface DirectBody {
  /**
   * Reads the body, once.
   *
   * @param length What `content-length` says.
   * @param memory What it is read into, where that is cheaper than memory of its own.
   * @param progress Told of what has come, at least where the body is larger than {@link WHOLE_BYTES_MAX}.
   * @returns Its bytes; fewer only where it ended early without an error.
   */
  [READ_BODY]?(
    length: number,
    memory: BodyMemory,
    progress: BodyProgress,
  ): Promise<Uint8Array>;
}
