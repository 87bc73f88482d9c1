/** Reads our own frames from either end of a file. @module */
import {
  FRAME_HEAD_BYTES,
  FRAME_TRAILER_BYTES,
  type FrameKind,
  frameLengthFromHead,
  frameLengthFromTrailer,
} from "./_frame.ts";
import { corrupt, Malformed, orCorrupt } from "./_malformed.ts";
import { type ByteSource, readRange } from "./byte_source.ts";

/** What is read at first, in the hope that the frame is in it. */
const FIRST_READ_BYTES = 4096;

/**
 * Reads the frame that a file begins with.
 *
 * @throws {TidemarkError} `corrupt`; `unsupported-format` when the file is of a newer format; what the source throws.
 */
export async function readFirstFrame<Found>(
  source: ByteSource,
  kind: FrameKind,
  decode: (frame: Uint8Array) => Found,
): Promise<Found> {
  const { key, size } = source;
  const first = await readRange(source, 0, Math.min(size, FIRST_READ_BYTES));
  const whole = { key, from: 0, to: first.length };
  const what = `the ${kind.name}`;
  const length = await orCorrupt(whole, what, () => {
    if (first.length < FRAME_HEAD_BYTES) throw new Malformed(`it has only ${first.length} bytes`);
    return frameLengthFromHead(kind, first);
  });
  const range = { key, from: 0, to: length };
  if (length > size) throw corrupt(range, what, `the file has only ${size} bytes`);
  const frame = length <= first.length
    ? first.subarray(0, length)
    : await readRange(source, 0, length);
  return await orCorrupt(range, what, () => decode(frame));
}

/**
 * Reads the frame that ends at `end`.
 *
 * @param decode Is told where in the file the frame begins.
 * @throws {TidemarkError} `corrupt`; what the source throws.
 */
export async function readFrameEndingAt<Found>(
  source: ByteSource,
  { end, kind }: { end: number; kind: FrameKind },
  decode: (frame: Uint8Array, position: number) => Found,
): Promise<Found> {
  const { key } = source;
  const from = Math.max(0, end - FIRST_READ_BYTES);
  const last = await readRange(source, from, end);
  const what = `the ${kind.name}`;
  const length = await orCorrupt({ key, from, to: end }, what, () => {
    if (last.length < FRAME_TRAILER_BYTES) throw new Malformed(`it has ${last.length} bytes`);
    return frameLengthFromTrailer(kind, last.subarray(last.length - FRAME_TRAILER_BYTES));
  });
  const position = end - length;
  const range = { key, from: Math.max(0, position), to: end };
  if (position < 0) throw corrupt(range, what, `its length is ${length}`);
  const frame = length <= last.length
    ? last.subarray(last.length - length)
    : await readRange(source, position, end);
  return await orCorrupt(range, what, () => decode(frame, position));
}
