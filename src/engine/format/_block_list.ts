/** The list of blocks in an index: for each 12 bytes, length and XXH64. @module */
import { readHash, readUint32, writeHash, writeUint32 } from "./_bytes.ts";
import { Malformed } from "./_malformed.ts";
import type { Block } from "./change_file.ts";

/** Bytes that the index spends on one block. */
export const BLOCK_ENTRY_BYTES = 12;

/** Packs the list. */
export function encodeBlocks(blocks: readonly Block[]): Uint8Array {
  const bytes = new Uint8Array(blocks.length * BLOCK_ENTRY_BYTES);
  blocks.forEach(({ length, hash }, i) => {
    writeUint32(bytes, i * BLOCK_ENTRY_BYTES, length);
    writeHash(bytes, i * BLOCK_ENTRY_BYTES + 4, hash);
  });
  return bytes;
}

/**
 * Unpacks the list.
 *
 * @throws {Malformed}
 */
export function decodeBlocks(bytes: Uint8Array): Block[] {
  if (bytes.length % BLOCK_ENTRY_BYTES !== 0) {
    throw new Malformed(`its list of blocks has ${bytes.length} bytes, wants 12 for each`);
  }
  const blocks: Block[] = [];
  for (let at = 0; at < bytes.length; at += BLOCK_ENTRY_BYTES) {
    blocks.push({ length: readUint32(bytes, at), hash: readHash(bytes, at + 4) });
  }
  return blocks;
}
