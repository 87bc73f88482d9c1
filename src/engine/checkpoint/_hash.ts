/** Writes a checksum the way it stands in facts. */
export function formatHash(hash: bigint): string {
  return hash.toString(16).padStart(16, "0");
}
