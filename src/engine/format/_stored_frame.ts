/** Reads the LZ4 frame of a batch, or of a state object, as it is stored, and checks every byte of it. @module */
import { BLOCK_WORD_BYTES, type Codec, HASH_STATE_BYTES, SLOP_BYTES } from "../../../wasm/mod.ts";
import { BLOCK_BYTES_MAX } from "../limits.ts";
import { readUint32 } from "./_bytes.ts";
import {
  blockContentBytes,
  DESCRIPTOR_AT,
  type HeaderLayout,
  LZ4_TAIL_BYTES,
  readBlockWord,
  readLz4Header,
  SIZED,
} from "./_lz4_frame.ts";
import { Malformed } from "./_malformed.ts";
import type { SourceWindow } from "./_source_window.ts";
import { wantSame } from "./_want.ts";
import type { Batch, Block } from "./change_file.ts";

/** What an LZ4 frame turned out to be. */
export interface StoredFrame {
  readonly bodyLength: number;
  readonly blockBytes: number;
  readonly blocks: Block[];
  readonly hash: bigint;
}

/** Bytes of the codec's memory that {@link readStoredFrame} needs, from the arena's start on; a window comes behind. */
export const STORED_FRAME_ARENA_BYTES: number = 2 * HASH_STATE_BYTES + BLOCK_BYTES_MAX + SLOP_BYTES;

/** How to read a frame. */
export interface StoredFrameOptions {
  /** Whether to decompress, and to check the content checksum. */
  readonly decompress: boolean;
}

/**
 * Reads a frame from the window on.
 *
 * @throws {Malformed} It is not an LZ4 frame of this format, whole.
 */
export async function readStoredFrame(
  codec: Codec,
  window: SourceWindow,
  options: StoredFrameOptions,
): Promise<StoredFrame> {
  const reader = new FrameReader(codec, window);
  const { blockBytes, contentBytes = 0 } = await reader.header(SIZED);
  const blocks: Block[] = [];
  for (;;) {
    const block = await reader.block(blockBytes);
    if (block === undefined) break;
    blocks.push({ length: block.length, hash: block.hash });
    const content = blockContentBytes(blocks.length - 1, contentBytes, blockBytes);
    if (content <= 0) throw new Malformed(`it has more than ${contentBytes} bytes of content`);
    if (options.decompress) reader.content(block, content);
    reader.pass(BLOCK_WORD_BYTES + block.length);
  }
  wantSame("number of blocks", blocks.length, Math.ceil(contentBytes / blockBytes));
  await reader.tail(options);
  return { bodyLength: contentBytes, blockBytes, blocks, hash: reader.hash };
}

/** A block whose stored bytes are in the codec's memory. */
export interface BlockInMemory extends Block {
  /** Where its bytes are. */
  readonly at: number;
  readonly plain: boolean;
}

/** Goes through one LZ4 frame. */
export class FrameReader {
  readonly #codec: Codec;
  readonly #window: SourceWindow;
  readonly #frameState: number;
  readonly #contentState: number;
  readonly #unpacked: number;

  constructor(codec: Codec, window: SourceWindow) {
    this.#codec = codec;
    this.#window = window;
    this.#frameState = codec.arenaStart;
    this.#contentState = this.#frameState + HASH_STATE_BYTES;
    this.#unpacked = this.#contentState + HASH_STATE_BYTES;
    codec.xxh64Begin(this.#frameState);
    codec.xxh32Begin(this.#contentState);
  }

  /** XXH64 of what was passed so far. */
  get hash(): bigint {
    return this.#codec.xxh64Digest(this.#frameState);
  }

  async header(layout: HeaderLayout): Promise<{ blockBytes: number; contentBytes?: number }> {
    const at = await this.#window.need(layout.bytes);
    const descriptor = this.#codec.xxh32(at + DESCRIPTOR_AT, layout.descriptorBytes);
    const header = readLz4Header(this.#codec.bytes, at, descriptor, layout);
    this.pass(layout.bytes);
    return header;
  }

  /** Brings the next block into memory; undefined at the end mark. */
  async block(blockBytes: number): Promise<BlockInMemory | undefined> {
    const wordAt = await this.#window.need(BLOCK_WORD_BYTES);
    const word = readUint32(this.#codec.bytes, wordAt);
    if (word === 0) return undefined;
    const { length, plain } = readBlockWord(word, blockBytes);
    const at = await this.#window.need(BLOCK_WORD_BYTES + length);
    const hash = this.#codec.xxh64(at, BLOCK_WORD_BYTES + length);
    return { at: at + BLOCK_WORD_BYTES, length, plain, hash };
  }

  /** Unpacks a block; answers where in memory its content is, until the next call. */
  content(block: BlockInMemory, contentBytes: number): number {
    const at = block.plain ? this.#plain(block, contentBytes) : this.#unpack(block, contentBytes);
    this.#codec.xxh32Update(this.#contentState, at, contentBytes);
    return at;
  }

  #plain(block: BlockInMemory, contentBytes: number): number {
    if (block.length !== contentBytes) throw new Malformed("a plain block has another length");
    return block.at;
  }

  #unpack(block: BlockInMemory, contentBytes: number): number {
    const found = this.#codec.decompress(block.at, block.length, this.#unpacked, contentBytes);
    if (found !== contentBytes) throw new Malformed("a block does not decompress");
    return this.#unpacked;
  }

  /** Reads what follows the last block. */
  async tail(options: StoredFrameOptions): Promise<void> {
    const at = await this.#window.need(LZ4_TAIL_BYTES);
    const wanted = readUint32(this.#codec.bytes, at + 4);
    if (options.decompress && this.#codec.xxh32Digest(this.#contentState) !== wanted) {
      throw new Malformed("the checksum of its content does not match");
    }
    this.pass(LZ4_TAIL_BYTES);
  }

  /** Takes the next bytes of the frame in. */
  pass(count: number): void {
    const at = this.#window.at;
    this.#codec.xxh64Update(this.#frameState, at, count);
    this.#window.skip(count);
  }
}

/**
 * Checks that a frame is the one that an index speaks of.
 *
 * @throws {Malformed}
 */
export function checkStoredFrame(frame: StoredFrame, batch: Batch): void {
  wantSame("hash of the LZ4 frame", batch.frameHash, frame.hash);
  wantSame("body length", batch.bodyLength, frame.bodyLength);
  wantSame("block size", batch.blockBytes, frame.blockBytes);
  wantSame("number of blocks", batch.blocks.length, frame.blocks.length);
  batch.blocks.forEach(({ length, hash }, i) => {
    wantSame(`length of block ${i}`, length, frame.blocks[i].length);
    wantSame(`hash of block ${i}`, hash, frame.blocks[i].hash);
  });
}
