/**
 * Our own frames, as skippable frames of LZ4: what any LZ4 tool passes over.
 *
 * ```
 * u32 magic of the skippable frame | u32 bytes that follow | one CBOR item | u64 length of the whole frame
 *   | u64 XXH64 of all bytes before it | 8 bytes of ASCII: which frame it is
 * ```
 * @module
 */
import { xxh64 } from "../../../wasm/mod.ts";
import { INDEX_FRAME_BYTES_MAX } from "../limits.ts";
import { readHash, readUint32, readUint64, writeHash, writeUint32, writeUint64 } from "./_bytes.ts";
import { Malformed } from "./_malformed.ts";

/** Bytes before the CBOR item. */
export const FRAME_HEAD_BYTES = 8;
/** Bytes after the CBOR item. */
export const FRAME_TRAILER_BYTES = 24;
const FRAME_BYTES_MIN = FRAME_HEAD_BYTES + 1 + FRAME_TRAILER_BYTES;

/** One kind of frame. */
export interface FrameKind {
  readonly name: string;
  readonly magic: number;
  readonly label: Uint8Array;
}

function kind(name: string, magic: number, label: string): FrameKind {
  return { name, magic, label: new TextEncoder().encode(label) };
}

/** Begins a file. */
export const HEADER_FRAME: FrameKind = kind("file header", 0x184d2a50, "TIDE-HDR");
/** Follows the LZ4 frame of a batch. */
export const INDEX_FRAME: FrameKind = kind("batch index", 0x184d2a51, "TIDE-IDX");
/** Ends a state object. */
export const STATE_INDEX_FRAME: FrameKind = kind("state index", 0x184d2a51, "TIDE-IDX");
/** Ends a sealed file. */
export const END_FRAME: FrameKind = kind("file index", 0x184d2a52, "TIDE-END");

/** A frame, whole. */
export interface SealedFrame {
  readonly bytes: Uint8Array;
  readonly hash: bigint;
}

/**
 * Makes a frame of a CBOR item.
 *
 * @throws {RangeError} The frame would be larger than 64 MiB.
 */
export function sealFrame(kind: FrameKind, item: Uint8Array): SealedFrame {
  const length = FRAME_HEAD_BYTES + item.length + FRAME_TRAILER_BYTES;
  if (length > INDEX_FRAME_BYTES_MAX) {
    throw new RangeError(
      `Cannot make a ${kind.name} of ${length} bytes: at most ${INDEX_FRAME_BYTES_MAX} are allowed`,
    );
  }
  const bytes = new Uint8Array(length);
  const trailer = length - FRAME_TRAILER_BYTES;
  writeUint32(bytes, 0, kind.magic);
  writeUint32(bytes, 4, length - FRAME_HEAD_BYTES);
  bytes.set(item, FRAME_HEAD_BYTES);
  writeUint64(bytes, trailer, length);
  const hash = xxh64(bytes.subarray(0, trailer + 8));
  writeHash(bytes, trailer + 8, hash);
  bytes.set(kind.label, trailer + 16);
  return { bytes, hash };
}

/**
 * Reads the length of a frame from its first 8 bytes.
 *
 * @throws {Malformed} They are no frame of this kind, or it is larger than the cap.
 */
export function frameLengthFromHead(kind: FrameKind, head: Uint8Array): number {
  const magic = readUint32(head, 0);
  if (magic !== kind.magic) {
    throw new Malformed(`it begins with ${hex(magic)}, wants ${hex(kind.magic)}`);
  }
  return checkLength(readUint32(head, 4) + FRAME_HEAD_BYTES);
}

/**
 * Reads the length of a frame from its last 24 bytes.
 *
 * @throws {Malformed} They are no frame of this kind, or it is larger than the cap.
 */
export function frameLengthFromTrailer(kind: FrameKind, trailer: Uint8Array): number {
  checkLabel(kind, trailer.subarray(16));
  return checkLength(readUint64(trailer, 0));
}

/**
 * Checks a frame that is whole.
 *
 * @returns Its CBOR item, a view; and its XXH64.
 * @throws {Malformed}
 */
export function openFrame(
  kind: FrameKind,
  frame: Uint8Array,
): { item: Uint8Array; hash: bigint } {
  const trailer = frame.length - FRAME_TRAILER_BYTES;
  const length = frame.length >= FRAME_BYTES_MIN ? frameLengthFromHead(kind, frame) : undefined;
  if (length !== frame.length || readUint64(frame, trailer) !== frame.length) {
    throw new Malformed(`its length is ${frame.length}, not what it says itself`);
  }
  checkLabel(kind, frame.subarray(trailer + 16));
  const wanted = readHash(frame, trailer + 8);
  const hash = xxh64(frame.subarray(0, trailer + 8));
  if (hash !== wanted) {
    throw new Malformed(`its XXH64 is ${hex(hash)}, its trailer says ${hex(wanted)}`);
  }
  return { item: frame.subarray(FRAME_HEAD_BYTES, trailer), hash };
}

function checkLength(length: number): number {
  if (length >= FRAME_BYTES_MIN && length <= INDEX_FRAME_BYTES_MAX) return length;
  throw new Malformed(
    `its length is ${length}, wants ${FRAME_BYTES_MIN} to ${INDEX_FRAME_BYTES_MAX} bytes`,
  );
}

function checkLabel(kind: FrameKind, label: Uint8Array): void {
  if (kind.label.every((byte, i) => byte === label[i])) return;
  throw new Malformed(`it does not end as a ${kind.name} ends`);
}

function hex(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}
