/**
 * The module's memory: what lies where, and the contract with the caller.
 *
 * [0, ARENA_START) belongs to the module: the overlap patterns of the decompressor and the
 * compressor's position tables. From ARENA_START on, the memory is the caller's arena; the module
 * keeps nothing there between calls, except streaming hash states at addresses that the caller
 * gives.
 *
 * Around every source and every target the caller keeps SLOP_BYTES that the module may touch: it
 * may read so far past the end of a source, and write so far past the end of a target. What it
 * reads there never matters, and what it writes there is garbage. `wasm/mod.ts` checks that all of
 * that lies inside the arena; the module itself trusts its arguments, but not the bytes of a block.
 *
 * Lengths of blocks are at most 16 MiB, so that no sum of length bytes in a block can pass 32 bits.
 */

/** Bytes past a source that may be read, and past a target that may be written. */
export const SLOP_BYTES: u32 = 64;

/** Bytes of a streaming hash state, XXH32 or XXH64. */
export const HASH_STATE_BYTES: u32 = 72;

/** Per match distance below 16: for each byte of a vector, which byte of the pattern it repeats. */
export const OVERLAP_PATTERNS: usize = 1024;
/** Per match distance below 16: the largest multiple of it that a vector holds. */
export const OVERLAP_STEPS: usize = OVERLAP_PATTERNS + 16 * 16;
/** The compressor's table: for each hash, the low 16 bits of the newest position that had it. */
export const POSITION_TABLE: usize = 4096;
/** Another one, for what a second thread compresses in this memory at the same time. */
export const SECOND_TABLE: usize = POSITION_TABLE + 16384;
/** First byte of the caller's arena. */
export const ARENA_START: u32 = 65536;

for (let distance: u32 = 1; distance < 16; distance++) {
  for (let lane: u32 = 0; lane < 16; lane++) {
    store<u8>(OVERLAP_PATTERNS + (distance << 4) + lane, <u8> (lane % distance));
  }
  store<u8>(OVERLAP_STEPS + distance, <u8> (16 - 16 % distance));
}

/** Copies 16 bytes. */
@inline
export function copy16(target: usize, source: usize): void {
  v128.store(target, v128.load(source));
}

/** Copies 32 bytes; the second half may read what the first half wrote. */
@inline
export function copy32(target: usize, source: usize): void {
  v128.store(target, v128.load(source));
  v128.store(target, v128.load(source, 16), 16);
}
