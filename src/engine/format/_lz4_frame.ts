/**
 * The LZ4 frame around a body. Source: LZ4 Frame Format Description.
 *
 * ```
 * u32 magic | FLG | BD | u64 content size | HC | blocks, each u32 word and bytes | u32 0 | u32 XXH32 of the content
 * ```
 * @module
 */
import { BLOCK_WORD_BYTES } from "../../../wasm/mod.ts";
import { BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, KIB, MIB } from "../limits.ts";
import { readUint32, readUint64, writeUint32, writeUint64 } from "./_bytes.ts";
import { Malformed } from "./_malformed.ts";

/** How a frame's header is laid out. */
export interface HeaderLayout {
  readonly flags: number;
  /** Bytes before the first block. */
  readonly bytes: number;
  /** How many bytes the header checksum covers. */
  readonly descriptorBytes: number;
  readonly hasContentSize: boolean;
}

/** Version 01, independent blocks, no block checksums, content size, content checksum, no dictionary. */
export const SIZED: HeaderLayout = {
  flags: 0b01101100,
  bytes: 15,
  descriptorBytes: 10,
  hasContentSize: true,
};
/** The same without content size, for what is written before its size is known. */
export const UNSIZED: HeaderLayout = {
  flags: 0b01100100,
  bytes: 7,
  descriptorBytes: 2,
  hasContentSize: false,
};

/** Bytes before the first block of a batch. */
export const LZ4_HEADER_BYTES: number = SIZED.bytes;
/** Bytes after the last block: end mark and content checksum. */
export const LZ4_TAIL_BYTES = 8;
/** Where the bytes that the header checksum covers begin. */
export const DESCRIPTOR_AT = 4;
/** Bit of a block's word that says: stored plainly. */
const PLAIN = 0x80000000;

const MAGIC = 0x184d2204;
const SIZES: readonly number[] = [64 * KIB, 256 * KIB, MIB, 4 * MIB];
const FIRST_SIZE_ID = 4;

/** Whether the frame format knows this block size. */
export function isBlockSize(blockBytes: number): boolean {
  return SIZES.includes(blockBytes);
}

/** Writes a frame header but for its last byte, the header checksum. Without `contentBytes` it is `UNSIZED`. */
export function writeLz4Header(
  target: Uint8Array,
  at: number,
  options: { blockBytes: number; contentBytes?: number },
): HeaderLayout {
  const { blockBytes, contentBytes } = options;
  const layout = contentBytes === undefined ? UNSIZED : SIZED;
  writeUint32(target, at, MAGIC);
  target[at + 4] = layout.flags;
  target[at + 5] = (SIZES.indexOf(blockBytes) + FIRST_SIZE_ID) << 4;
  if (contentBytes !== undefined) writeUint64(target, at + 6, contentBytes);
  return layout;
}

/** The header checksum, from the XXH32 of the descriptor. */
export function headerChecksum(descriptorXxh32: number): number {
  return (descriptorXxh32 >>> 8) & 0xff;
}

/**
 * Reads a frame header.
 *
 * @param descriptorXxh32 XXH32 of the descriptor in it.
 * @throws {Malformed} It is not one that this format writes.
 */
export function readLz4Header(
  bytes: Uint8Array,
  at: number,
  descriptorXxh32: number,
  layout: HeaderLayout,
): { blockBytes: number; contentBytes?: number } {
  const magic = readUint32(bytes, at);
  if (magic !== MAGIC) {
    throw new Malformed(`it begins with 0x${magic.toString(16)}, wants an LZ4 frame`);
  }
  const blockBytes = SIZES[(bytes[at + 5] >> 4) - FIRST_SIZE_ID];
  if (bytes[at + layout.bytes - 1] !== headerChecksum(descriptorXxh32)) {
    throw new Malformed("the checksum of its LZ4 frame header does not match");
  }
  if (bytes[at + 4] !== layout.flags || (bytes[at + 5] & 0x8f) !== 0 || blockBytes === undefined) {
    throw new Malformed("its LZ4 frame has other flags than this format uses");
  }
  if (!layout.hasContentSize) return { blockBytes };
  return { blockBytes, contentBytes: readUint64(bytes, at + 6) };
}

/**
 * Takes a block's word apart.
 *
 * @throws {Malformed} The block is longer than the frame's block size.
 */
export function readBlockWord(
  word: number,
  blockBytes: number,
): { length: number; plain: boolean } {
  const length = word & ~PLAIN;
  if (length > blockBytes || length === 0 && word !== 0) {
    throw new Malformed(`a block has ${length} bytes, wants 1 to ${blockBytes}`);
  }
  return { length, plain: (word & PLAIN) !== 0 };
}

/** Bytes of an LZ4 frame whose blocks are these. */
export function lz4FrameBytes(
  blocks: readonly { length: number }[],
  layout: HeaderLayout,
): number {
  let total = layout.bytes + LZ4_TAIL_BYTES;
  for (const { length } of blocks) total += BLOCK_WORD_BYTES + length;
  return total;
}

/** Uncompressed bytes of block `index`. */
export function blockContentBytes(index: number, bodyLength: number, blockBytes: number): number {
  return Math.min(blockBytes, bodyLength - index * blockBytes);
}

/** @throws {RangeError} The block size is not one of the frame format. */
export function checkBlockSize(blockBytes: number): void {
  if (isBlockSize(blockBytes)) return;
  throw new RangeError(
    `Cannot use blocks of ${blockBytes} bytes: wants ${BLOCK_BYTES_MIN}, ${SIZES[1]}, ${
      SIZES[2]
    } or ${BLOCK_BYTES_MAX}`,
  );
}
