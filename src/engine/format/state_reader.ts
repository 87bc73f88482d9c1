/**
 * Reads a state object.
 *
 * Owns: that what comes out is just what was put in: every block is checked before it is given out, and every stored
 * byte by the end.
 * Does not own: I/O, which a {@link ByteSource} does; which object it should be.
 * @module
 */
import {
  acquireCodec,
  BLOCK_WORD_BYTES,
  type Codec,
  releaseCodec,
  Xxh64,
} from "../../../wasm/mod.ts";
import { HEADER_FRAME, STATE_INDEX_FRAME } from "./_frame.ts";
import { readFirstFrame, readFrameEndingAt } from "./_frame_ends.ts";
import { blockContentBytes, LZ4_TAIL_BYTES, UNSIZED } from "./_lz4_frame.ts";
import { orCorrupt, type Range } from "./_malformed.ts";
import { SourceWindow } from "./_source_window.ts";
import { decodeStateHeader, decodeStateIndex } from "./_state_frames.ts";
import { FrameReader, STORED_FRAME_ARENA_BYTES } from "./_stored_frame.ts";
import { wantSame } from "./_want.ts";
import type { ByteSource } from "./byte_source.ts";
import type { StateIndex, StateObject } from "./state_object.ts";

/**
 * Reads both ends of a state object, and checks that they belong together.
 *
 * @param source Just as long as the object.
 * @throws {TidemarkError} `corrupt`; `unsupported-format` when it is of a newer format; what the source throws.
 */
export async function readStateEnds(source: ByteSource): Promise<StateObject> {
  const { key, size } = source;
  const { header, length, hash } = await readFirstFrame(source, HEADER_FRAME, decodeStateHeader);
  const end = { end: size, kind: STATE_INDEX_FRAME };
  const index = await readFrameEndingAt(source, end, decodeStateIndex);
  await orCorrupt({ key, from: 0, to: size }, "the state index", () => {
    wantSame("file uuid", index.uuid, header.uuid);
    wantSame("epoch", index.epoch, header.epoch);
    wantSame("position", index.position, length);
    wantSame("hash of the header", index.headerHash, hash);
  });
  return { header, index };
}

/**
 * Reads the content, block by block. Each is read when it is asked for; codec and window are held until the end.
 *
 * @param index What {@link readStateEnds} read.
 * @returns Pieces of one block each, the reader's own. It ends only when all of it was good.
 * @throws {TidemarkError} `corrupt`; what the source throws.
 */
export async function* readStateContent(
  source: ByteSource,
  index: StateIndex,
): AsyncGenerator<Uint8Array, void> {
  const codec = acquireCodec();
  try {
    yield* new ContentReader(codec, source, index).pieces();
  } finally {
    releaseCodec(codec);
  }
}

class ContentReader {
  readonly #codec: Codec;
  readonly #source: ByteSource;
  readonly #index: StateIndex;
  readonly #window: SourceWindow;
  readonly #frame: FrameReader;
  readonly #hash = new Xxh64();

  constructor(codec: Codec, source: ByteSource, index: StateIndex) {
    const memory = { codec, start: codec.arenaStart + STORED_FRAME_ARENA_BYTES };
    const range = { from: index.position, to: source.size };
    this.#codec = codec;
    this.#source = source;
    this.#index = index;
    this.#window = new SourceWindow(source, range, memory);
    this.#frame = new FrameReader(codec, this.#window);
  }

  async *pieces(): AsyncGenerator<Uint8Array, void> {
    const { blocks, blockBytes, size } = this.#index;
    await this.#check("the LZ4 frame's header", UNSIZED.bytes, async () => {
      wantSame("block size", (await this.#frame.header(UNSIZED)).blockBytes, blockBytes);
    });
    for (let i = 0; i < blocks.length; i++) {
      yield await this.#check(
        `block ${i}`,
        BLOCK_WORD_BYTES + blocks[i].length,
        () => this.#block(i, blockContentBytes(i, size, blockBytes)),
      );
    }
    await this.#check("the end", LZ4_TAIL_BYTES, () => this.#end());
  }

  async #block(number: number, contentBytes: number): Promise<Uint8Array> {
    const block = await this.#frame.block(this.#index.blockBytes);
    const { length, hash } = this.#index.blocks[number];
    wantSame("length", block?.length, length);
    wantSame("XXH64", block!.hash, hash);
    const at = this.#frame.content(block!, contentBytes);
    const piece = this.#codec.bytes.slice(at, at + contentBytes);
    this.#hash.update(piece);
    this.#frame.pass(BLOCK_WORD_BYTES + length);
    return piece;
  }

  async #end(): Promise<void> {
    wantSame("number of blocks", await this.#frame.block(this.#index.blockBytes), undefined);
    await this.#frame.tail({ decompress: true });
    wantSame("hash of the LZ4 frame", this.#frame.hash, this.#index.frameHash);
    wantSame("hash of the content", this.#hash.digest(), this.#index.contentHash);
  }

  #check<Result>(what: string, bytes: number, action: () => Promise<Result>): Promise<Result> {
    const { position } = this.#window;
    const range: Range = { key: this.#source.key, from: position, to: position + bytes };
    return orCorrupt(range, what, action);
  }
}
