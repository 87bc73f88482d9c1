/**
 * Where the bytes of a stored object come from: the format's only way to them.
 * @module
 */
import { corrupt } from "./_malformed.ts";

/** An object that can be read in ranges. */
export interface ByteSource {
  /** The object's key, for messages. */
  readonly key: string;
  /** Its size in bytes. What it grows to afterwards is not looked at. */
  readonly size: number;
  /** Reads the bytes from `from` to before `to`. */
  read(from: number, to: number): Promise<Uint8Array>;
  /**
   * Reads bytes from `from` on as {@link ByteSource.read} does, into memory that there is; answers how many.
   * Nothing is written to it once the call has settled. @default they are read, and copied
   */
  readInto?(target: Uint8Array, from: number): Promise<number>;
}

/**
 * Reads a range that must be there.
 *
 * @throws {TidemarkError} `corrupt` when the object ends before.
 */
export async function readRange(
  source: ByteSource,
  from: number,
  to: number,
): Promise<Uint8Array> {
  checkEnd(source, from, to);
  const bytes = await source.read(from, to);
  checkCount(source, { from, to, count: bytes.length });
  return bytes;
}

/**
 * Fills memory with a range that must be there.
 *
 * @throws {TidemarkError} `corrupt` when the object ends before.
 */
export async function readRangeInto(
  source: ByteSource,
  from: number,
  target: Uint8Array,
): Promise<void> {
  const to = from + target.length;
  if (source.readInto === undefined) {
    target.set(await readRange(source, from, to));
    return;
  }
  checkEnd(source, from, to);
  checkCount(source, { from, to, count: await source.readInto(target, from) });
}

function checkEnd({ key, size }: ByteSource, from: number, to: number): void {
  if (to <= size) return;
  throw corrupt({ key, from, to }, "stored bytes", `it ends at byte ${size}`);
}

function checkCount(
  { key }: ByteSource,
  { from, to, count }: { from: number; to: number; count: number },
): void {
  if (count === to - from) return;
  throw corrupt({ key, from, to }, "stored bytes", `only ${count} are there`);
}
