/**
 * Looks behind bytes that are not whole and good for what proves that they once were: a batch or an end frame is
 * written only after the batch before it was synced.
 *
 * Owns: finding such a frame.
 * Does not own: what follows from it.
 * @module
 */
import { MIB } from "../limits.ts";
import { readUint32 } from "./_bytes.ts";
import {
  END_FRAME,
  FRAME_HEAD_BYTES,
  type FrameKind,
  frameLengthFromHead,
  INDEX_FRAME,
} from "./_frame.ts";
import { decodeFileIndex, decodeIndex } from "./_index.ts";
import { Malformed } from "./_malformed.ts";
import { type ByteSource, readRange } from "./byte_source.ts";

const WINDOW_BYTES = MIB;
const MAGIC_BYTES = 4;

/** A whole frame. */
export interface LaterFrame {
  /** Where it begins. */
  readonly at: number;
  /** What it is, for messages. */
  readonly what: string;
}

/**
 * Finds a whole frame of the file that was written after its batch `batch` had been synced.
 *
 * @param options.from Where to begin to look.
 * @param options.uuid The file's.
 * @param options.batch Number of the batch that is not whole and good.
 * @throws {TidemarkError} What the source throws.
 */
export async function findLaterFrame(
  source: ByteSource,
  options: { readonly from: number; readonly uuid: string; readonly batch: number },
): Promise<LaterFrame | undefined> {
  const { size } = source;
  for (let start = options.from; start + FRAME_HEAD_BYTES <= size; start += WINDOW_BYTES) {
    const end = Math.min(start + WINDOW_BYTES + MAGIC_BYTES - 1, size);
    const window = await readRange(source, start, end);
    for (const { kind, at } of findMagics(window)) {
      const found = await readLaterFrame(source, { ...options, kind, at: start + at });
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function findMagics(bytes: Uint8Array): { kind: FrameKind; at: number }[] {
  const found = [];
  const last = INDEX_FRAME.magic >>> 24;
  for (let at = bytes.indexOf(last, 3) - 3; at >= 0; at = bytes.indexOf(last, at + 4) - 3) {
    const magic = readUint32(bytes, at);
    for (const kind of [INDEX_FRAME, END_FRAME]) if (kind.magic === magic) found.push({ kind, at });
  }
  return found;
}

async function readLaterFrame(
  source: ByteSource,
  place: { readonly kind: FrameKind; readonly at: number; readonly uuid: string; batch: number },
): Promise<LaterFrame | undefined> {
  const { kind, at, uuid, batch } = place;
  if (at + FRAME_HEAD_BYTES > source.size) return undefined;
  const head = await readRange(source, at, at + FRAME_HEAD_BYTES);
  try {
    const length = frameLengthFromHead(kind, head);
    if (at + length > source.size) return undefined;
    const frame = await readRange(source, at, at + length);
    if (kind === END_FRAME) {
      return decodeFileIndex(frame).uuid === uuid ? { at, what: "its file index" } : undefined;
    }
    const index = decodeIndex(frame, at);
    const isLater = index.uuid === uuid && index.number > batch;
    return isLater ? { at, what: `the index of its batch ${index.number}` } : undefined;
  } catch (error) {
    // These bytes only look like the beginning of a frame.
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}
