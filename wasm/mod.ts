/**
 * The codec: LZ4 blocks, those of a frame, XXH32 and XXH64 in WebAssembly, the same bytes on every runtime.
 *
 * Owns: the module's memory and its contract, bounds checks at the edge, the pool of instances.
 * Does not own: the rest of LZ4 frames, threads.
 *
 * Offsets are bytes in {@link Codec.bytes}. Whoever holds a codec lays out its arena freely, but
 * leaves {@link SLOP_BYTES} after each source and after each target's capacity: the module reads
 * and writes there at will. The memory never grows after `create`, so views of it stay valid.
 * @module
 */
export type { SharedInstance } from "./_instance.ts";
export {
  type BlocksCall,
  Codec,
  type CodecOptions,
  type DividedCall,
  type ModuleCall,
} from "./codec.ts";
export {
  BLOCK_ENTRY_BYTES,
  BLOCK_WORD_BYTES,
  CODEC_BLOCK_BYTES_MAX,
  compressBound,
  HASH_STATE_BYTES,
  SLOP_BYTES,
} from "./limits.ts";
export { Xxh64, xxh64 } from "./hash.ts";
export { acquireCodec, releaseCodec } from "./pool.ts";
