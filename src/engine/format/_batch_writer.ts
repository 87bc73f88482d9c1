/**
 * Writes the bytes of one batch, or of a state object, into the codec's memory: the LZ4 frame, block by block, then what comes behind it.
 *
 * ```
 * XXH32 state | XXH64 state | what is told of blocks | blocks of the body | output | output
 * ```
 *
 * One output is filled while what is in the other may still be on its way to the disk.
 * @module
 */
import {
  BLOCK_ENTRY_BYTES,
  type BlocksCall,
  type Codec,
  HASH_STATE_BYTES,
  SLOP_BYTES,
} from "../../../wasm/mod.ts";
import { BLOCK_BYTES_MIN, MIB } from "../limits.ts";
import { type LentCodec, RUN_BYTES_MAX } from "../port/codec_thread.ts";
import { readHash, readUint32, writeUint32 } from "./_bytes.ts";
import { DESCRIPTOR_AT, headerChecksum, LZ4_TAIL_BYTES, writeLz4Header } from "./_lz4_frame.ts";
import type { Block } from "./change_file.ts";

/** Bytes of a piece, about. */
const PIECE_BYTES = MIB;
/** Bytes after which no other block goes into a piece. */
const FULL_BYTES: number = MIB * 3 / 4;

const ENTRIES_BYTES: number = BLOCK_ENTRY_BYTES * (RUN_BYTES_MAX / BLOCK_BYTES_MIN);

/** Puts bytes of the body into memory. */
export type Fill = (memory: Uint8Array, at: number) => void;

/** How to write a batch. */
export interface BatchWriterOptions {
  readonly compression: "lz4" | "none";
  readonly blockBytes: number;
  /** Bytes of the body that are encoded at once, whole blocks. @default one block */
  readonly runBytes?: number;
}

/** One batch on its way into a file. */
export class BatchWriter {
  readonly blocks: Block[] = [];
  /** Bytes of the LZ4 frame so far. */
  frameLength = 0;
  readonly #codec: Codec;
  readonly #options: BatchWriterOptions;
  readonly #contentState: number;
  readonly #frameState: number;
  readonly #entries: number;
  readonly #input: number;
  /** Where the two outputs begin, and how long each is. */
  readonly #outputs: readonly [number, number];
  readonly #capacity: number;
  /** The output that is being filled. */
  #output: number;
  #end: number;

  constructor(codec: Codec, options: BatchWriterOptions) {
    this.#codec = codec;
    this.#options = options;
    this.#contentState = codec.arenaStart;
    this.#frameState = this.#contentState + HASH_STATE_BYTES;
    this.#entries = this.#frameState + HASH_STATE_BYTES;
    this.#input = this.#entries + ENTRIES_BYTES;
    const first = this.#input + (options.runBytes ?? options.blockBytes) + SLOP_BYTES;
    this.#capacity = Math.floor((codec.arenaEnd - first) / 2);
    this.#outputs = [first, first + this.#capacity];
    this.#output = first;
    this.#end = first;
    codec.xxh32Begin(this.#contentState);
    codec.xxh64Begin(this.#frameState);
  }

  /** XXH64 of the LZ4 frame so far. */
  get frameHash(): bigint {
    return this.#codec.xxh64Digest(this.#frameState);
  }

  /** Writes the header of the LZ4 frame; without a size where that is not known yet. */
  begin(contentBytes?: number): void {
    const { bytes } = this.#codec;
    const at = this.#end;
    const { blockBytes } = this.#options;
    const layout = writeLz4Header(bytes, at, { blockBytes, contentBytes });
    const descriptor = this.#codec.xxh32(at + DESCRIPTOR_AT, layout.descriptorBytes);
    bytes[at + layout.bytes - 1] = headerChecksum(descriptor);
    this.#advance(layout.bytes);
  }

  /** Writes the body's next `length` bytes, at most a run and whole blocks but for the last. */
  *encode(length: number, fill: Fill): Generator<Uint8Array> {
    yield* this.#makeRoom();
    fill(this.#codec.bytes, this.#input);
    this.#took(length, this.#codec.encodeBlocks(this.#blocksCall(length)));
  }

  /** The same on another thread: where it has to be waited for, a promise comes instead of a piece. */
  *encodeOnThread(
    length: number,
    fill: Fill,
    lent: LentCodec,
  ): Generator<Uint8Array | Promise<void>> {
    yield* this.#makeRoom();
    let end = this.#end;
    const { memory, at } = lent.contentAt(this.#input);
    fill(memory, at);
    yield lent.encodeBlocks(this.#blocksCall(length)).then((behind) => void (end = behind));
    this.#took(length, end);
  }

  *#makeRoom(): Generator<Uint8Array> {
    if (this.#end - this.#output >= FULL_BYTES) yield* this.flush();
  }

  #blocksCall(length: number): BlocksCall {
    return {
      source: this.#input,
      length,
      blockBytes: this.#options.blockBytes,
      target: this.#end,
      contentState: this.#contentState,
      frameState: this.#frameState,
      entries: this.#entries,
      isCompressed: this.#options.compression === "lz4",
    };
  }

  #took(length: number, end: number): void {
    this.#takeEntries(Math.ceil(length / this.#options.blockBytes));
    this.frameLength += end - this.#end;
    this.#end = end;
  }

  #takeEntries(count: number): void {
    const { bytes } = this.#codec;
    for (let i = 0, at = this.#entries; i < count; i++, at += BLOCK_ENTRY_BYTES) {
      this.blocks.push({ length: readUint32(bytes, at), hash: readHash(bytes, at + 8) });
    }
  }

  /** Writes the tail of the LZ4 frame. */
  end(): void {
    const { bytes } = this.#codec;
    writeUint32(bytes, this.#end, 0);
    writeUint32(bytes, this.#end + 4, this.#codec.xxh32Digest(this.#contentState));
    this.#advance(LZ4_TAIL_BYTES);
  }

  /** Writes bytes that come before or behind the LZ4 frame. */
  *append(bytes: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length;) {
      const room = this.#capacity - (this.#end - this.#output);
      const part = bytes.subarray(at, at + room);
      this.#codec.bytes.set(part, this.#end);
      this.#end += part.length;
      at += part.length;
      if (at < bytes.length) yield* this.flush();
    }
  }

  /** Gives away what was written, in pieces; they are valid until the flush after the next. */
  *flush(): Generator<Uint8Array> {
    const end = this.#end;
    const pieces = Math.max(1, Math.round((end - this.#output) / PIECE_BYTES));
    const length = Math.ceil((end - this.#output) / pieces);
    for (let at = this.#output; at < end; at += length) {
      yield this.#codec.bytes.subarray(at, Math.min(at + length, end));
    }
    this.#output = this.#output === this.#outputs[0] ? this.#outputs[1] : this.#outputs[0];
    this.#end = this.#output;
  }

  /** Takes the next bytes of the LZ4 frame in. */
  #advance(length: number): void {
    this.#codec.xxh64Update(this.#frameState, this.#end, length);
    this.#end += length;
    this.frameLength += length;
  }
}
