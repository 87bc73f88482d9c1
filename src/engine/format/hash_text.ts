/** Checksums as they stand in small facts and trailers: 16 hex digits. @module */

/** Writes a checksum. */
export function formatHash(hash: bigint): string {
  return hash.toString(16).padStart(16, "0");
}

/** Reads a checksum that {@link formatHash} wrote. */
export function parseHash(text: string): bigint {
  return BigInt(`0x${text}`);
}
