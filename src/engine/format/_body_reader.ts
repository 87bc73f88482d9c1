/**
 * Reads parts of a batch's body, forwards: only the blocks that are needed, each checked against the index.
 * @module
 */
import { BLOCK_WORD_BYTES, type Codec, SLOP_BYTES } from "../../../wasm/mod.ts";
import { BLOCK_BYTES_MAX, MIB } from "../limits.ts";
import { readUint32 } from "./_bytes.ts";
import { blockContentBytes, LZ4_HEADER_BYTES, readBlockWord } from "./_lz4_frame.ts";
import { corrupt, orCorrupt } from "./_malformed.ts";
import { wantSame } from "./_want.ts";
import { type ByteSource, readRangeInto } from "./byte_source.ts";
import type { Batch } from "./change_file.ts";

const READ_BYTES = MIB;
/** Bytes of a body that are at hand at once, at least. */
export const BODY_WINDOW_BYTES: number = MIB;

/** A part of the body: its first byte, and the first after it. */
export type BodyRange = readonly [from: number, to: number];

/** Goes through some parts of a body in order. */
export class BodyReader {
  readonly #source: ByteSource;
  readonly #batch: Batch;
  readonly #codec: Codec;
  readonly #needed: Uint8Array;
  readonly #positions: Float64Array;
  readonly #input: number;
  readonly #window: number;
  /** What of the body is in the window. */
  #from = 0;
  #to = 0;
  #nextBlock = 0;
  /** Where stored blocks that were read ahead are in memory, from #nextBlock on. */
  #aheadAt: number;
  #aheadEnd: number;

  /** @param ranges All that will be asked for, in order. */
  constructor(codec: Codec, from: { source: ByteSource; batch: Batch }, ranges: BodyRange[]) {
    this.#codec = codec;
    this.#source = from.source;
    this.#batch = from.batch;
    this.#input = this.#aheadAt = this.#aheadEnd = codec.arenaStart;
    this.#window = this.#input + BLOCK_WORD_BYTES + BLOCK_BYTES_MAX + SLOP_BYTES;
    const { blocks, blockBytes, position } = from.batch;
    this.#needed = new Uint8Array(blocks.length);
    for (const [start, end] of ranges) {
      const last = Math.ceil(end / blockBytes);
      this.#needed.fill(1, Math.floor(start / blockBytes), last);
    }
    this.#positions = new Float64Array(blocks.length + 1);
    this.#positions[0] = position + LZ4_HEADER_BYTES;
    blocks.forEach(({ length }, i) => {
      this.#positions[i + 1] = this.#positions[i] + BLOCK_WORD_BYTES + length;
    });
  }

  /**
   * Brings a part of the body into memory, at most {@link BODY_WINDOW_BYTES}; what is before it goes.
   *
   * @returns A view, valid until the next call.
   */
  async get(from: number, to: number): Promise<Uint8Array> {
    const { blockBytes } = this.#batch;
    if (from >= this.#to) {
      const block = Math.floor(from / blockBytes);
      if (block !== this.#nextBlock) this.#aheadAt = this.#aheadEnd;
      this.#nextBlock = block;
      this.#from = this.#to = block * blockBytes;
    } else if (to > this.#to) {
      const start = this.#window + from - this.#from;
      this.#codec.bytes.copyWithin(this.#window, start, this.#window + this.#to - this.#from);
      this.#from = from;
    }
    while (this.#to < to) await this.#addBlock();
    const start = this.#window - this.#from;
    return this.#codec.bytes.subarray(start + from, start + to);
  }

  async #addBlock(): Promise<void> {
    const index = this.#nextBlock;
    const { blocks, bodyLength, blockBytes } = this.#batch;
    if (this.#aheadAt === this.#aheadEnd) await this.#readAhead();
    const range = {
      key: this.#source.key,
      from: this.#positions[index],
      to: this.#positions[index + 1],
    };
    const what = `block ${index} of batch ${this.#batch.number}`;
    const content = blockContentBytes(index, bodyLength, blockBytes);
    await orCorrupt(range, what, () => this.#checkBlock(index));
    if (this.#unpack(blocks[index].length, content) !== content) {
      throw corrupt(range, what, `it does not decompress to ${content} bytes`);
    }
    this.#to += content;
    this.#nextBlock++;
    this.#aheadAt += BLOCK_WORD_BYTES + blocks[index].length;
  }

  #checkBlock(index: number): void {
    const { length, hash } = this.#batch.blocks[index];
    const found = this.#codec.xxh64(this.#aheadAt, BLOCK_WORD_BYTES + length);
    wantSame("XXH64", found, hash);
    const word = readUint32(this.#codec.bytes, this.#aheadAt);
    wantSame("length", readBlockWord(word, this.#batch.blockBytes).length, length);
  }

  #unpack(length: number, content: number): number {
    const codec = this.#codec;
    const at = this.#aheadAt + BLOCK_WORD_BYTES;
    const target = this.#window + this.#to - this.#from;
    const word = readUint32(codec.bytes, this.#aheadAt);
    if (!readBlockWord(word, this.#batch.blockBytes).plain) {
      return codec.decompress(at, length, target, content);
    }
    if (length === content) codec.bytes.copyWithin(target, at, at + length);
    return length;
  }

  /** Reads the next block, and the needed ones that follow it. */
  async #readAhead(): Promise<void> {
    const first = this.#nextBlock;
    const from = this.#positions[first];
    let end = first + 1;
    while (this.#needed[end] === 1 && this.#positions[end + 1] - from <= READ_BYTES) end++;
    this.#aheadAt = this.#input;
    this.#aheadEnd = this.#input + this.#positions[end] - from;
    const ahead = this.#codec.bytes.subarray(this.#aheadAt, this.#aheadEnd);
    await readRangeInto(this.#source, from, ahead);
  }
}
