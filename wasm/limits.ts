/** Sizes that callers of the codec lay out their arena with. @module */

/** First byte of an arena; what lies before is the module's. */
export const ARENA_START = 65536;

/** Bytes that are readable after a source and writable after a target's capacity. */
export const SLOP_BYTES = 64;

/** Bytes of one streaming hash state, XXH32 or XXH64. */
export const HASH_STATE_BYTES = 72;

/** Bytes before each block of an LZ4 frame: its stored length. */
export const BLOCK_WORD_BYTES = 4;

/** Bytes that tell of one block which was encoded. */
export const BLOCK_ENTRY_BYTES = 16;

/** Largest block, compressed or not: 16 MiB. */
export const CODEC_BLOCK_BYTES_MAX: number = 16 * 1024 * 1024;

/**
 * Most bytes that a block of `length` bytes can compress to. A target also needs
 * {@link SLOP_BYTES} after that.
 *
 * @param length Bytes before compression, at most {@link CODEC_BLOCK_BYTES_MAX}.
 * @throws {RangeError} When `length` is not a whole number in that range.
 */
export function compressBound(length: number): number {
  if (!Number.isInteger(length) || length < 0 || length > CODEC_BLOCK_BYTES_MAX) {
    throw new RangeError(
      `Cannot size a block of ${length} bytes: wants a whole number from 0 to ${CODEC_BLOCK_BYTES_MAX}`,
    );
  }
  return length + Math.floor(length / 255) + 16;
}
