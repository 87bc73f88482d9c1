/** Input of an append: bytes in one of three formats, cut into pieces of bounded size, each a unit of its own. */
import { TidemarkError } from "../engine/errors.ts";
import {
  changesFromCborSequence,
  changesFromLines,
  changesFromNdjson,
} from "../engine/format/change_input.ts";
import { CHANGE_BYTES_MAX, MIB } from "../engine/limits.ts";
import type { EncodedChanges } from "../engine/types.ts";
import { cborItemEnd } from "./_cbor_item.ts";

/** Formats of changes. */
export const CHANGE_FORMATS = ["lines", "ndjson", "cborseq"] as const;
export type ChangeFormat = typeof CHANGE_FORMATS[number];

const PIECE_BYTES = 4 * MIB;
const NEWLINE = 0x0a;
interface InputFormat {
  /** Where the last whole item ends that begins before `bytes` ends; 0 when there is none. */
  wholeEnd(bytes: Uint8Array): number;
  read(bytes: Uint8Array): EncodedChanges;
  /** Longest form of the largest change. */
  readonly itemBytesMax: number;
}

const byLine = (bytes: Uint8Array): number => bytes.lastIndexOf(NEWLINE) + 1;

const FORMATS: Readonly<Record<ChangeFormat, InputFormat>> = {
  lines: { wholeEnd: byLine, read: changesFromLines, itemBytesMax: CHANGE_BYTES_MAX },
  ndjson: { wholeEnd: byLine, read: changesFromNdjson, itemBytesMax: 2 * CHANGE_BYTES_MAX },
  cborseq: {
    wholeEnd: cborItemsEnd,
    read: changesFromCborSequence,
    itemBytesMax: 2 * CHANGE_BYTES_MAX,
  },
};

/** Reads changes as they come in; an input without any gives nothing. @throws {TidemarkError} `invalid-change`, `change-too-large` */
export async function* readChanges(
  input: AsyncIterable<Uint8Array>,
  format: ChangeFormat,
): AsyncGenerator<EncodedChanges> {
  const { wholeEnd, read, itemBytesMax } = FORMATS[format];
  let taken = 0;
  const take = (bytes: Uint8Array): EncodedChanges => {
    try {
      return read(bytes);
    } catch (error) {
      throw placedInInput(error, taken);
    } finally {
      taken += bytes.length;
    }
  };
  let pending = new Uint8Array(0);
  let parts: Uint8Array[] = [];
  let length = 0;
  let wanted = PIECE_BYTES;
  for await (const part of input) {
    parts.push(part);
    length += part.length;
    if (length < wanted) continue;
    pending = concatenate(parts, length);
    const end = wholeEnd(pending);
    if (end > 0) yield take(pending.subarray(0, end));
    const rest = pending.slice(end);
    if (rest.length > itemBytesMax) throw tooLarge(taken);
    parts = [rest];
    length = rest.length;
    wanted = Math.max(PIECE_BYTES, 2 * length);
  }
  const last = take(concatenate(parts, length));
  if (last.count > 0) yield last;
}

function cborItemsEnd(bytes: Uint8Array): number {
  let end = 0;
  while (true) {
    const next = cborItemEnd(bytes, end);
    if (next === undefined) return end;
    end = next;
  }
}

function concatenate(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Says where in the whole input the trouble is, not only where in its piece. */
function placedInInput(error: unknown, pieceStart: number): unknown {
  if (!(error instanceof TidemarkError) || pieceStart === 0) return error;
  return new TidemarkError(
    error.code,
    `${error.message} (bytes counted from byte ${pieceStart} of the input)`,
    { outcome: error.outcome, details: { ...error.details, pieceStart }, cause: error },
  );
}

function tooLarge(position: number): TidemarkError {
  return new TidemarkError(
    "change-too-large",
    `Cannot append: the change at byte ${position} of the input is longer than ${CHANGE_BYTES_MAX} bytes`,
    { details: { position, bytesMax: CHANGE_BYTES_MAX } },
  );
}
