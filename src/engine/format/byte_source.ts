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
  if (to <= source.size) {
    const bytes = await source.read(from, to);
    if (bytes.length === to - from) return bytes;
    throw corrupt({ key: source.key, from, to }, "stored bytes", `only ${bytes.length} are there`);
  }
  throw corrupt({ key: source.key, from, to }, "stored bytes", `it ends at byte ${source.size}`);
}
