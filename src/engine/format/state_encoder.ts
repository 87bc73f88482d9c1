/**
 * Encodes a state object from pieces of any size, in memory that does not grow with it but by 12 bytes a block.
 *
 * Owns: frames and checksums.
 * Does not own: where the pieces come from, writing and syncing.
 * @module
 */
import { acquireCodec, type Codec, releaseCodec, Xxh64 } from "../../../wasm/mod.ts";
import { TidemarkError } from "../errors.ts";
import { STATE_BLOCKS_MAX } from "../limits.ts";
import { BatchWriter } from "./_batch_writer.ts";
import { checkBlockSize } from "./_lz4_frame.ts";
import { encodeStateHeader, encodeStateIndex } from "./_state_frames.ts";
import type { StateHeader } from "./state_object.ts";

/** How to encode. */
export interface StateEncoderOptions {
  /** `none` stores blocks plainly. */
  readonly compression: "lz4" | "none";
  /** Bytes of a block: 64 KiB, 256 KiB, 1 MiB or 4 MiB. */
  readonly blockBytes: number;
  /** @default STATE_BLOCKS_MAX */
  readonly blocksMax?: number;
}

/** What became of a state. */
export interface EncodedState {
  /** Bytes of the file. */
  readonly length: number;
  /** Bytes of the content. */
  readonly size: number;
  /** XXH64 of the content. */
  readonly contentHash: bigint;
}

/**
 * One state object on its way into a file. Every piece that it gives is a view, valid until the one after the next is
 * asked for, and each is to be taken before the encoder is called again. Close it: it holds a codec.
 */
export class StateEncoder {
  readonly #header: StateHeader;
  readonly #options: StateEncoderOptions;
  readonly #codec: Codec;
  readonly #writer: BatchWriter;
  readonly #contentHash = new Xxh64();
  readonly #block: Uint8Array;
  #filled = 0;
  #size = 0;
  #isOpen = true;
  readonly #position: number;
  readonly #headerHash: bigint;
  readonly #first: Uint8Array;

  /** @throws {RangeError} The block size is none of the frame format. */
  constructor(header: StateHeader, options: StateEncoderOptions) {
    checkBlockSize(options.blockBytes);
    const { bytes, hash } = encodeStateHeader(header);
    this.#header = header;
    this.#options = options;
    this.#first = bytes;
    this.#position = bytes.length;
    this.#headerHash = hash;
    this.#block = new Uint8Array(options.blockBytes);
    this.#codec = acquireCodec();
    this.#writer = new BatchWriter(this.#codec, options);
  }

  /** Begins the file. Once, first. */
  *begin(): Generator<Uint8Array> {
    yield* this.#writer.append(this.#first);
    this.#writer.begin();
  }

  /**
   * Takes the next bytes of the content.
   *
   * @throws {TidemarkError} `invalid-request`: there are more than a state object may have.
   */
  *add(bytes: Uint8Array): Generator<Uint8Array> {
    this.#size += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + this.#block.length - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === this.#block.length) yield* this.#writeBlock();
    }
  }

  /** Ends the file. Once, last. */
  *end(): Generator<Uint8Array, EncodedState> {
    if (this.#filled > 0) yield* this.#writeBlock();
    const writer = this.#writer;
    writer.end();
    const contentHash = this.#contentHash.digest();
    const { bytes } = encodeStateIndex({
      uuid: this.#header.uuid,
      epoch: this.#header.epoch,
      position: this.#position,
      size: this.#size,
      blockBytes: this.#options.blockBytes,
      blocks: writer.blocks,
      frameHash: writer.frameHash,
      headerHash: this.#headerHash,
      contentHash,
    });
    yield* writer.append(bytes);
    yield* writer.flush();
    const length = this.#position + writer.frameLength + bytes.length;
    return { length, size: this.#size, contentHash };
  }

  /** Lets the codec go. Idempotent. */
  close(): void {
    if (this.#isOpen) releaseCodec(this.#codec);
    this.#isOpen = false;
  }

  *#writeBlock(): Generator<Uint8Array> {
    const { blocksMax = STATE_BLOCKS_MAX, blockBytes } = this.#options;
    if (this.#writer.blocks.length === blocksMax) {
      throw new TidemarkError(
        "invalid-request",
        `Cannot store state ${this.#header.name}: it has more than ${blocksMax} blocks of ${blockBytes} bytes; use larger blocks, or several states`,
        { details: { name: this.#header.name, blocksMax, blockBytes } },
      );
    }
    const content = this.#block.subarray(0, this.#filled);
    // Of the copy: whoever changes the bytes meanwhile gets what is stored, and a good checksum.
    this.#contentHash.update(content);
    yield* this.#writer.encode(this.#filled, (memory, at) => memory.set(content, at));
    this.#filled = 0;
  }
}
