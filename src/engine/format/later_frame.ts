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
import type { ChangeSetEntry } from "./change_set.ts";

const WINDOW_BYTES = MIB;
const MAGIC_BYTES = 4;

/** A whole frame. */
export interface LaterFrame {
  /** Where it begins. */
  readonly at: number;
  /** What it is, for messages. */
  readonly what: string;
  /** The change sets that it lists; none for the file index. */
  readonly sets: readonly ChangeSetEntry[];
}

/** Where to look for frames, and of what. */
export interface LaterFrameOptions {
  /** Where to begin to look. */
  readonly from: number;
  /** The file's. */
  readonly uuid: string;
  /** Number of the batch before those that are looked for. */
  readonly batch: number;
}

/**
 * Finds a whole frame of the file that was written after its batch `batch` had been synced.
 *
 * @throws {TidemarkError} What the source throws.
 */
export async function findLaterFrame(
  source: ByteSource,
  options: LaterFrameOptions,
): Promise<LaterFrame | undefined> {
  for await (const found of laterFrames(source, options)) return found;
  return undefined;
}

/**
 * Finds every whole frame of the file that was written after its batch `batch`, in file order as a rule.
 *
 * @throws {TidemarkError} What the source throws.
 */
export async function* laterFrames(
  source: ByteSource,
  options: LaterFrameOptions,
): AsyncGenerator<LaterFrame, void> {
  const { size } = source;
  for (let start = options.from; start + FRAME_HEAD_BYTES <= size; start += WINDOW_BYTES) {
    const end = Math.min(start + WINDOW_BYTES + MAGIC_BYTES - 1, size);
    const window = await readRange(source, start, end);
    for (const { kind, at } of findMagics(window)) {
      const found = await readLaterFrame(source, { ...options, kind, at: start + at });
      if (found !== undefined) yield found;
    }
  }
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
  place: LaterFrameOptions & { readonly kind: FrameKind; readonly at: number },
): Promise<LaterFrame | undefined> {
  const { kind, at, uuid, batch } = place;
  if (at + FRAME_HEAD_BYTES > source.size) return undefined;
  const head = await readRange(source, at, at + FRAME_HEAD_BYTES);
  try {
    const length = frameLengthFromHead(kind, head);
    if (at + length > source.size) return undefined;
    const frame = await readRange(source, at, at + length);
    if (kind === END_FRAME) {
      const isOurs = decodeFileIndex(frame).uuid === uuid;
      return isOurs ? { at, what: "its file index", sets: [] } : undefined;
    }
    const index = decodeIndex(frame, at);
    const isLater = index.uuid === uuid && index.number > batch;
    if (!isLater) return undefined;
    return { at, what: `the index of its batch ${index.number}`, sets: index.sets };
  } catch (error) {
    // These bytes only look like the beginning of a frame.
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}
