/**
 * The codec: LZ4 blocks, XXH32 and XXH64 in WebAssembly, the same bytes on every runtime.
 *
 * Owns: the module's memory and its contract, bounds checks at the edge, the pool of instances.
 * Does not own: LZ4 frames, what is stored plainly, what a checksum covers.
 *
 * Offsets are bytes in {@link Codec.bytes}. Whoever holds a codec lays out its arena freely, but
 * leaves {@link SLOP_BYTES} after each source and after each target's capacity: the module reads
 * and writes there at will. The memory never grows after `create`, so views of it stay valid.
 * @module
 */
export { Codec, type CodecOptions } from "./codec.ts";
export { CODEC_BLOCK_BYTES_MAX, compressBound, HASH_STATE_BYTES, SLOP_BYTES } from "./limits.ts";
export { Xxh64, xxh64 } from "./hash.ts";
export { acquireCodec, releaseCodec } from "./pool.ts";
