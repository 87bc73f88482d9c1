/** What the module exports. Its memory and the contract with the caller: `layout.ts`. */
export { ARENA_START, HASH_STATE_BYTES, SLOP_BYTES } from "./layout";
export { compress } from "./lz4_compress";
export { decompress } from "./lz4_decompress";
export { encodeBlocks, encodeBlocksBeside, joinBlocks } from "./lz4_frame";
export { xxh32, xxh32Begin, xxh32Digest, xxh32Update } from "./xxh32";
export { xxh64, xxh64Begin, xxh64Digest, xxh64Update } from "./xxh64";
