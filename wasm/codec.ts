/** One instance of the module, with checked edges. @module */
import {
  type BlocksArguments,
  type CodecExports,
  instantiate,
  instantiateShared,
  type SharedInstance,
} from "./_instance.ts";
import {
  ARENA_START,
  BLOCK_ENTRY_BYTES,
  BLOCK_WORD_BYTES,
  CODEC_BLOCK_BYTES_MAX,
  compressBound,
  HASH_STATE_BYTES,
  SLOP_BYTES,
} from "./limits.ts";

const ALIGNMENT = 64;
const MIB = 1024 * 1024;
const ARENA_BYTES_MAX = 1024 * MIB;
/** A 4 MiB block, room for what it compresses to, and an output area of 8 MiB. */
const ARENA_BYTES_DEFAULT = 4 * MIB + compressBound(4 * MIB) + 8 * MIB +
  3 * (SLOP_BYTES + ALIGNMENT);

/** How to make a {@link Codec}. */
export interface CodecOptions {
  /** Bytes that the caller can lay out. @default {about 16 MiB} */
  arenaBytes?: number;
  /** Whether another thread may work in its memory. @default false */
  isShared?: boolean;
}

/** What {@link Codec.encodeBlocks} encodes, and where to; places are offsets in {@link Codec.bytes}. */
export interface BlocksCall {
  /** Offset of the bytes. */
  readonly source: number;
  /** Bytes at `source`. */
  readonly length: number;
  /** Bytes of a block before compression, at most 16 MiB; the last one has what is left. */
  readonly blockBytes: number;
  /** Offset of the first block, with room for {@link Codec.blocksBound} and the slop. */
  readonly target: number;
  /** Offset of the streaming XXH32 that takes the source in. */
  readonly contentState: number;
  /** Offset of the streaming XXH64 that takes in what is written. */
  readonly frameState: number;
  /** Offset of {@link BLOCK_ENTRY_BYTES} for each block: its stored bytes (uint32 at 0), its XXH64 (uint64 at 8). */
  readonly entries: number;
  /** Whether to compress; else every block is stored plainly. */
  readonly isCompressed: boolean;
}

/** A call of a function that the module exports, by name. */
export type ModuleCall = readonly [
  name: "encodeBlocks" | "encodeBlocksBeside" | "xxh32Update",
  ...values: readonly (number | boolean)[],
];

/** A call in two parts that two threads may make at the same time, each its calls in order. */
export interface DividedCall {
  /** The first of them answers where its blocks end. */
  readonly parts: readonly [readonly ModuleCall[], readonly ModuleCall[]];
  /** Offset of the second part's blocks, until they are joined to those of the first. */
  readonly secondTarget: number;
}

/**
 * LZ4 blocks and hashes in one memory.
 *
 * A codec is used by one caller at a time; all its calls are synchronous.
 *
 * @example
 * ```ts
 * import { acquireCodec, compressBound, releaseCodec, SLOP_BYTES } from "./mod.ts";
 *
 * const codec = acquireCodec();
 * const source = codec.arenaStart;
 * const length = new TextEncoder().encodeInto("a".repeat(1000), codec.bytes.subarray(source)).written;
 * const target = source + length + SLOP_BYTES;
 * const written = codec.compress(source, length, target);
 * console.assert(written < length && written <= compressBound(length));
 * releaseCodec(codec);
 * ```
 */
export class Codec {
  /** All of the memory; a view of shared memory where {@link shared} is there, which web APIs refuse. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What another thread needs to work in this memory; undefined where none may. */
  readonly shared: SharedInstance | undefined;
  /** First byte that the caller may use; a multiple of 64. */
  readonly arenaStart: number;
  /** End of what the caller may use; a multiple of 64. */
  readonly arenaEnd: number;
  readonly #module: CodecExports;

  private constructor(module: CodecExports, shared?: SharedInstance) {
    this.#module = module;
    this.shared = shared;
    this.bytes = new Uint8Array(this.#module.memory.buffer as ArrayBuffer);
    this.arenaStart = ARENA_START;
    this.arenaEnd = this.bytes.byteLength;
  }

  /**
   * Makes an instance with a memory of its own; the module is compiled once per process.
   *
   * @throws {RangeError} When `arenaBytes` is not a whole number from 0 to 1 GiB, or when the
   * runtime has no such memory left.
   */
  static create(options: CodecOptions = {}): Codec {
    const { arenaBytes = ARENA_BYTES_DEFAULT, isShared = false } = options;
    if (!Number.isInteger(arenaBytes) || arenaBytes < 0 || arenaBytes > ARENA_BYTES_MAX) {
      throw new RangeError(
        `Cannot create a codec with an arena of ${arenaBytes} bytes: ` +
          `wants a whole number from 0 to ${ARENA_BYTES_MAX}`,
      );
    }
    if (!isShared) return new Codec(instantiate(arenaBytes));
    const { shared, ...module } = instantiateShared(arenaBytes);
    return new Codec(module, shared);
  }

  /** Bytes at most that blocks of a source take, without the slop behind them. */
  static blocksBound(length: number, blockBytes: number): number {
    const blocks = Math.ceil(length / blockBytes);
    return blocks * (BLOCK_WORD_BYTES + compressBound(Math.min(length, blockBytes)));
  }

  /**
   * Compresses bytes into one LZ4 block. Source and target must not overlap.
   * Source: LZ4 Block Format Description.
   *
   * @param source Offset of the bytes.
   * @param length Bytes at `source`, at most 16 MiB.
   * @param target Offset of the block, with room for `compressBound(length)` and the slop.
   * @returns Bytes written. As many as `length` or more say: store the bytes plainly.
   * @throws {RangeError} When source or target with their slop do not lie inside the arena.
   */
  compress(source: number, length: number, target: number): number {
    this.#checkBlock("compress", source, length);
    this.#check("compress into", target, compressBound(length), SLOP_BYTES);
    return this.#module.compress(source, length, target);
  }

  /**
   * Decompresses one LZ4 block, whatever its bytes are: nothing outside `target` to
   * `target + capacity + SLOP_BYTES` is written. Source and target must not overlap.
   * Source: LZ4 Block Format Description.
   *
   * @param source Offset of the block.
   * @param length Bytes of the block, at most 16 MiB.
   * @param target Offset of the result.
   * @param capacity Most bytes of the result, at most 16 MiB.
   * @returns Bytes written, or -1 when the block is malformed or holds more than `capacity`.
   * @throws {RangeError} When source or target with their slop do not lie inside the arena.
   */
  decompress(source: number, length: number, target: number, capacity: number): number {
    this.#checkBlock("decompress", source, length);
    this.#checkBlock("decompress into", target, capacity);
    return this.#module.decompress(source, length, target, capacity);
  }

  /**
   * Encodes bytes as blocks of an LZ4 frame, each behind its length, plainly where compressing makes it no smaller.
   * Source: LZ4 Frame Format Description.
   *
   * @returns Offset behind the last block.
   * @throws {RangeError} When anything that is read or written does not lie inside the arena.
   */
  encodeBlocks(call: BlocksCall): number {
    return this.#module.encodeBlocks(...this.#blocksArguments(call));
  }

  /**
   * The same as a call for another thread.
   *
   * @throws {RangeError} When anything that is read or written does not lie inside the arena.
   */
  blocksCall(call: BlocksCall): ModuleCall {
    return ["encodeBlocks", ...this.#blocksArguments(call)];
  }

  /**
   * The same as calls for two threads; {@link joinBlocks} makes one of what they come to.
   *
   * @returns undefined when there is only one block.
   * @throws {RangeError} When anything that is read or written does not lie inside the arena.
   */
  divideBlocks(call: BlocksCall): DividedCall | undefined {
    const { source, length, blockBytes, target, contentState, entries, isCompressed } = call;
    // Both parts, before either is made.
    this.#blocksArguments(call);
    const count = Math.floor(Math.ceil(length / blockBytes) / 2);
    if (count === 0) return undefined;
    const firstLength = count * blockBytes;
    const [restAt, restLength] = [source + firstLength, length - firstLength];
    const secondTarget = target + Codec.blocksBound(firstLength, blockBytes) + SLOP_BYTES;
    const restBound = Codec.blocksBound(restLength, blockBytes);
    this.#check("encode into", secondTarget, restBound, SLOP_BYTES);
    const restEntries = entries + BLOCK_ENTRY_BYTES * count;
    // A hash goes from the first byte to the last: one thread takes in all of the content.
    return {
      parts: [
        [
          this.blocksCall({ ...call, length: firstLength }),
          ["xxh32Update", contentState, restAt, restLength],
        ],
        [[
          "encodeBlocksBeside",
          restAt,
          restLength,
          blockBytes,
          secondTarget,
          restEntries,
          isCompressed,
        ]],
      ],
      secondTarget,
    };
  }

  /**
   * Joins the blocks of a divided call, both parts of which are done.
   *
   * @param ends Offsets behind the last block of each part.
   * @returns Offset behind the last block of all.
   * @throws {RangeError} When anything that is read or written does not lie inside the arena.
   */
  joinBlocks(
    { frameState }: BlocksCall,
    { secondTarget }: DividedCall,
    [firstEnd, secondEnd]: readonly [number, number],
  ): number {
    const length = secondEnd - secondTarget;
    this.#check("hash into", frameState, HASH_STATE_BYTES);
    this.#check("join", secondTarget, length);
    this.#check("join to", firstEnd, length);
    return this.#module.joinBlocks(firstEnd, secondTarget, length, frameState);
  }

  #blocksArguments(call: BlocksCall): BlocksArguments {
    const { source, length, blockBytes, target, contentState, frameState, entries } = call;
    this.#checkBlock("encode blocks of", source, Math.min(blockBytes, length));
    this.#check("encode", source, length, SLOP_BYTES);
    this.#check("encode into", target, Codec.blocksBound(length, blockBytes), SLOP_BYTES);
    this.#check("hash into", contentState, HASH_STATE_BYTES);
    this.#check("hash into", frameState, HASH_STATE_BYTES);
    this.#check("tell of blocks at", entries, BLOCK_ENTRY_BYTES * Math.ceil(length / blockBytes));
    const { isCompressed } = call;
    return [
      source,
      length,
      blockBytes,
      target,
      contentState,
      frameState,
      entries,
      isCompressed,
    ];
  }

  /**
   * XXH32 with seed 0. Source: xxHash fast digest algorithm.
   *
   * @returns A whole number from 0 to 2^32 - 1.
   * @throws {RangeError} When the bytes do not lie inside the arena.
   */
  xxh32(source: number, length: number): number {
    this.#check("hash", source, length);
    return this.#module.xxh32(source, length) >>> 0;
  }

  /**
   * XXH64 with seed 0. Source: xxHash fast digest algorithm.
   *
   * @returns A whole number from 0 to 2^64 - 1.
   * @throws {RangeError} When the bytes do not lie inside the arena.
   */
  xxh64(source: number, length: number): bigint {
    this.#check("hash", source, length);
    return BigInt.asUintN(64, this.#module.xxh64(source, length));
  }

  /**
   * Begins a streaming XXH32.
   *
   * @param state Offset of {@link HASH_STATE_BYTES} bytes that keep the state; plain bytes, which
   * may be copied out and in again.
   * @throws {RangeError} When the state does not lie inside the arena.
   */
  xxh32Begin(state: number): void {
    this.#check("begin a hash in", state, HASH_STATE_BYTES);
    this.#module.xxh32Begin(state);
  }

  /**
   * Takes the next bytes into a streaming XXH32.
   *
   * @throws {RangeError} When state or bytes do not lie inside the arena.
   */
  xxh32Update(state: number, source: number, length: number): void {
    this.#check("hash into", state, HASH_STATE_BYTES);
    this.#check("hash", source, length);
    this.#module.xxh32Update(state, source, length);
  }

  /**
   * XXH32 of all that a state has taken in. The state stays as it is and can take more.
   *
   * @returns A whole number from 0 to 2^32 - 1.
   * @throws {RangeError} When the state does not lie inside the arena.
   */
  xxh32Digest(state: number): number {
    this.#check("read a hash from", state, HASH_STATE_BYTES);
    return this.#module.xxh32Digest(state) >>> 0;
  }

  /**
   * Begins a streaming XXH64; see {@link Codec.xxh32Begin}.
   *
   * @throws {RangeError} When the state does not lie inside the arena.
   */
  xxh64Begin(state: number): void {
    this.#check("begin a hash in", state, HASH_STATE_BYTES);
    this.#module.xxh64Begin(state);
  }

  /**
   * Takes the next bytes into a streaming XXH64.
   *
   * @throws {RangeError} When state or bytes do not lie inside the arena.
   */
  xxh64Update(state: number, source: number, length: number): void {
    this.#check("hash into", state, HASH_STATE_BYTES);
    this.#check("hash", source, length);
    this.#module.xxh64Update(state, source, length);
  }

  /**
   * XXH64 of all that a state has taken in. The state stays as it is and can take more.
   *
   * @returns A whole number from 0 to 2^64 - 1.
   * @throws {RangeError} When the state does not lie inside the arena.
   */
  xxh64Digest(state: number): bigint {
    this.#check("read a hash from", state, HASH_STATE_BYTES);
    return BigInt.asUintN(64, this.#module.xxh64Digest(state));
  }

  #checkBlock(action: string, offset: number, length: number): void {
    if (length > CODEC_BLOCK_BYTES_MAX) {
      throw new RangeError(
        `Cannot ${action} ${length} bytes: a block has at most ${CODEC_BLOCK_BYTES_MAX}`,
      );
    }
    this.#check(action, offset, length, SLOP_BYTES);
  }

  #check(action: string, offset: number, length: number, slop = 0): void {
    if (
      Number.isInteger(offset) && Number.isInteger(length) && length >= 0 &&
      offset >= this.arenaStart && offset + length + slop <= this.arenaEnd
    ) return;
    const more = slop > 0 ? ` and ${slop} more` : "";
    throw new RangeError(
      `Cannot ${action} ${length} bytes${more} at ${offset}: ` +
        `wants whole numbers within the arena, ${this.arenaStart} to ${this.arenaEnd}`,
    );
  }
}
