/**
 * Input of an append: bytes in one of three formats, cut into pieces of bounded size, each a unit
 * of its own.
 */
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

/** A part of an input, and how far it was read with it. */
export interface InputPiece<Value = EncodedChanges> {
  readonly value: Value;
  /** Bytes of the input up to the end of the piece. */
  readonly inputEnd: number;
}

/** How an input is cut into pieces, and what they are read as. */
export interface InputFormat<Value> {
  /** Where the last whole item ends that begins before `bytes` ends; 0 when there is none. */
  wholeEnd(bytes: Uint8Array): number;
  /** Reads whole items; undefined for nothing. */
  read(bytes: Uint8Array): Value | undefined;
  /** Longest form of the largest change. */
  readonly itemBytesMax: number;
}

/** Ends of items in NDJSON. */
export const byLine = (bytes: Uint8Array): number => bytes.lastIndexOf(NEWLINE) + 1;

/** The longest form of one change. */
export const ITEM_BYTES_MAX: number = 2 * CHANGE_BYTES_MAX;

const unlessEmpty = (read: (bytes: Uint8Array) => EncodedChanges) => (bytes: Uint8Array) => {
  const changes = read(bytes);
  return changes.count === 0 ? undefined : changes;
};

const FORMATS: Readonly<Record<ChangeFormat, InputFormat<EncodedChanges>>> = {
  lines: { wholeEnd: byLine, read: unlessEmpty(changesFromLines), itemBytesMax: CHANGE_BYTES_MAX },
  ndjson: {
    wholeEnd: byLine,
    read: unlessEmpty(changesFromNdjson),
    itemBytesMax: ITEM_BYTES_MAX,
  },
  cborseq: {
    wholeEnd: cborItemsEnd,
    read: unlessEmpty(changesFromCborSequence),
    itemBytesMax: ITEM_BYTES_MAX,
  },
};

/** What reading changes waits for besides the input itself. */
export interface ReadChangesOptions {
  /** Settles when the input has paused for long enough to pass on what is there. */
  readonly lull: () => Promise<void>;
  /** Settles when no more is to be read: what is whole by then is the end. */
  readonly stopped: Promise<void>;
}

/**
 * Reads changes as they come in, some MiB at a time, or what is there when the input pauses.
 *
 * @throws {TidemarkError} `invalid-change`, `change-too-large`
 */
export function readChanges(
  input: AsyncIterable<Uint8Array>,
  name: ChangeFormat,
  options: ReadChangesOptions,
): AsyncGenerator<InputPiece> {
  return readPieces(input, FORMATS[name], options);
}

/** The same in any format. */
export async function* readPieces<Value>(
  input: AsyncIterable<Uint8Array>,
  format: InputFormat<Value>,
  options: ReadChangesOptions,
): AsyncGenerator<InputPiece<Value>> {
  const parts = new PartReader(input, options);
  const pending = new PendingInput(format);
  while (true) {
    const part = await parts.next(pending.mayBeWhole);
    if (part instanceof Uint8Array) pending.add(part);
    if (part === "end") break;
    const value = part === "stop" || part === "lull" || pending.isLong
      ? pending.takeWhole()
      : undefined;
    if (value !== undefined) yield { value, inputEnd: pending.taken };
    if (part === "stop") return;
  }
  const last = pending.takeAll();
  if (last !== undefined) yield { value: last, inputEnd: pending.taken };
}

type Part = Uint8Array | "end" | "lull" | "stop";

/** The next part of the input, or why there is none now. */
class PartReader {
  readonly #parts: AsyncIterator<Uint8Array>;
  readonly #lull: () => Promise<void>;
  #next: Promise<Uint8Array | "end"> | undefined;
  #isStopped = false;
  #stop = (): void => {};

  constructor(input: AsyncIterable<Uint8Array>, options: ReadChangesOptions) {
    this.#parts = input[Symbol.asyncIterator]();
    this.#lull = options.lull;
    void options.stopped.then(() => {
      this.#isStopped = true;
      this.#stop();
    });
  }

  /** @param mayPause Whether a pause of the input is worth telling. */
  async next(mayPause: boolean): Promise<Part> {
    if (this.#isStopped) return "stop";
    this.#next ??= this.#parts.next().then((next) => next.done ? "end" : next.value);
    const next = this.#next;
    const part = await new Promise<Part>((resolve, reject) => {
      this.#stop = () => resolve("stop");
      next.then(resolve, reject);
      if (mayPause) void this.#lull().then(() => resolve("lull"));
    });
    if (part instanceof Uint8Array) this.#next = undefined;
    return part;
  }
}

/** Input that came and was not passed on yet. */
class PendingInput<Value> {
  readonly #format: InputFormat<Value>;
  #parts: Uint8Array[] = [];
  #length = 0;
  #wanted = PIECE_BYTES;
  #taken = 0;
  /** Whether there is anything that was not looked at yet. */
  mayBeWhole = false;

  constructor(format: InputFormat<Value>) {
    this.#format = format;
  }

  /** Bytes of the input that were taken. */
  get taken(): number {
    return this.#taken;
  }

  get isLong(): boolean {
    return this.#length >= this.#wanted;
  }

  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
    this.mayBeWhole = true;
  }

  /** The whole items at the front. */
  takeWhole(): Value | undefined {
    const bytes = concatenate(this.#parts, this.#length);
    const end = this.#format.wholeEnd(bytes);
    const rest = bytes.slice(end);
    if (rest.length > this.#format.itemBytesMax) throw tooLarge(this.#taken + end);
    this.#parts = [rest];
    this.#length = rest.length;
    this.#wanted = Math.max(PIECE_BYTES, 2 * rest.length);
    this.mayBeWhole = false;
    return this.#read(bytes.subarray(0, end));
  }

  /** All there is: the input has ended. */
  takeAll(): Value | undefined {
    return this.#read(concatenate(this.#parts, this.#length));
  }

  #read(bytes: Uint8Array): Value | undefined {
    if (bytes.length === 0) return undefined;
    try {
      return this.#format.read(bytes);
    } catch (error) {
      throw placedInInput(error, this.#taken);
    } finally {
      this.#taken += bytes.length;
    }
  }
}

/** Where the last whole item of a CBOR sequence ends. */
export function cborItemsEnd(bytes: Uint8Array): number {
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
    `Cannot append: the change at byte ${position} of the input is longer than ` +
      `${CHANGE_BYTES_MAX} bytes`,
    { details: { position, bytesMax: CHANGE_BYTES_MAX } },
  );
}
