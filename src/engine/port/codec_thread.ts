import type { BlocksCall, Codec } from "../../../wasm/mod.ts";
import { BLOCK_BYTES_MAX } from "../limits.ts";

/** Most bytes that are encoded at once. */
export const RUN_BYTES_MAX: number = BLOCK_BYTES_MAX;

/** A place in some memory. */
export interface ContentPlace {
  readonly memory: Uint8Array;
  readonly at: number;
}

/** A codec that whoever has it gives back. */
export interface LentCodec {
  readonly codec: Codec;
  /** Where to put the bytes that a call with this source is to encode, {@link RUN_BYTES_MAX} at most. */
  contentAt(source: number): ContentPlace;
  /**
   * Encodes them as {@link Codec.encodeBlocks} does, while this thread goes on. Neither the content nor the codec may be
   * touched meanwhile.
   *
   * @returns Offset behind the last block.
   */
  encodeBlocks(call: BlocksCall): Promise<number>;
  /** Gives it back; a call that still runs may end. Once, last. */
  release(): void;
}

/** A thread that encodes, or several, so that this one can answer requests meanwhile. */
export interface CodecThread {
  /** Whether there is a codec to lend now, as far as is known. */
  readonly canLend: boolean;
  /** Lends a codec; undefined when there is none left, or no thread (any more): then whoever asks encodes without. */
  lend(): LentCodec | undefined;
  /** Ends the thread; calls that run may fail. Idempotent. */
  close(): Promise<void>;
}
