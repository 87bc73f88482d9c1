/** The other LZ4 codecs that the bench compares with: one native addon, one in WebAssembly. @module */
import { compressSync, uncompressSync } from "lz4-napi";

/** LZ4 on whole arrays; blocks carry their size in four bytes before them. */
export interface PeerCodec {
  readonly name: string;
  compress(bytes: Uint8Array): Uint8Array;
  decompress(block: Uint8Array): Uint8Array;
}

/** Bytes before a peer's block: the size of what it holds, little-endian. */
export const PEER_PREFIX_BYTES = 4;

/** `lz4-napi`: a native addon, the same on every runtime. */
export const NATIVE_PEER: PeerCodec = {
  name: "lz4-napi",
  compress: (bytes) => compressSync(bytes as Parameters<typeof compressSync>[0]),
  decompress: uncompressSync,
};

/** `lz4-wasm` on Deno, which imports WebAssembly; its sibling for Node elsewhere. */
export async function loadWasmPeer(): Promise<PeerCodec> {
  const onDeno = "Deno" in globalThis;
  const specifier = onDeno ? "../../node_modules/lz4-wasm/lz4_wasm.js" : "lz4-wasm-nodejs";
  const { compress, decompress } = await import(specifier);
  return { name: onDeno ? "lz4-wasm" : "lz4-wasm-nodejs", compress, decompress };
}
