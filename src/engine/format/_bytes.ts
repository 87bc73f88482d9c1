/** Little-endian numbers in bytes. By shifts: setters of `DataView` are slow in Bun. @module */

export function writeUint32(target: Uint8Array, at: number, value: number): void {
  target[at] = value & 0xff;
  target[at + 1] = (value >>> 8) & 0xff;
  target[at + 2] = (value >>> 16) & 0xff;
  target[at + 3] = value >>> 24;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

/** A u64 of at most 2^53 - 1. */
export function writeUint64(target: Uint8Array, at: number, value: number): void {
  writeUint32(target, at, value % 2 ** 32);
  writeUint32(target, at + 4, Math.floor(value / 2 ** 32));
}

/** A u64 as a number; not exact above 2^53. */
export function readUint64(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at + 4) * 2 ** 32 + readUint32(bytes, at);
}

export function writeHash(target: Uint8Array, at: number, hash: bigint): void {
  writeUint32(target, at, Number(hash & 0xffffffffn));
  writeUint32(target, at + 4, Number(hash >> 32n));
}

export function readHash(bytes: Uint8Array, at: number): bigint {
  return (BigInt(readUint32(bytes, at + 4)) << 32n) | BigInt(readUint32(bytes, at));
}

/** Whether two runs of bytes are the same. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) return false;
  }
  return true;
}
