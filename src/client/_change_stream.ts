/** Reads a restore that comes as a CBOR sequence: changes, then one map that ends it. */
import { Decoder } from "cbor-x/index-no-eval";
import { hasCode, TidemarkError, type TidemarkErrorOptions } from "../engine/errors.ts";
import { scanChangePrefix } from "../engine/format/change_scan.ts";
import { formatHash } from "../engine/format/hash_text.ts";
import { CHANGE_BYTES_MAX } from "../engine/limits.ts";
import type { RestoreTrailer } from "../engine/types.ts";
import { Xxh64 } from "../../wasm/mod.ts";
import type { JsonObject } from "./_json.ts";
import { readParts, type StreamPlace } from "./_parts.ts";
import { errorOfProblem } from "./_problem.ts";

const decoder = new Decoder({ useRecords: false, mapsAsObjects: true });
const BUFFER_BYTES = 64 * 1024;
/** Head of a change, besides its data. */
const HEAD_BYTES_MAX = 32;
const MAP = 5;

/** A restore from a sidecar, under way. */
export interface RemotePieces {
  /**
   * Encoded changes, piece by piece; each is valid until the next one is asked for. Throws when
   * the restore is cut short.
   */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** The same, with how many changes a piece holds; one of both is iterated, once. */
  readonly counted: AsyncIterable<CountedPiece>;
  /** Settles with the trailer when all pieces were read and agree with it. */
  readonly trailer: Promise<RestoreTrailer>;
}

/** Whole changes that lie next to each other. */
export interface CountedPiece {
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** Reads the stream; `what` names it for messages, `signals` end it. */
export function readChangeStream(
  body: ReadableStream<Uint8Array>,
  what: string,
  signals: StreamPlace["signals"] = [],
): RemotePieces {
  let settle: (trailer: RestoreTrailer) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const trailer = new Promise<RestoreTrailer>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  trailer.catch(() => {
    // The iteration tells of a failed restore; this is the same error again.
  });
  async function* counted(): AsyncGenerator<CountedPiece> {
    try {
      settle(yield* readPieces(body, { what, signals }));
    } catch (error) {
      fail(error);
      throw error;
    }
  }
  const pieces = counted();
  return { pieces: bytesOf(pieces), counted: pieces, trailer };
}

async function* bytesOf(pieces: AsyncIterable<CountedPiece>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of pieces) yield bytes;
}

async function* readPieces(
  body: ReadableStream<Uint8Array>,
  { what, signals }: StreamPlace,
): AsyncGenerator<CountedPiece, RestoreTrailer> {
  const pending = new PendingBytes();
  const hash = new Xxh64();
  let count = 0;
  const onBreak = (cause: unknown) => broken(what, "the connection broke", cause);
  for await (const part of readParts(body, signals, onBreak)) {
    pending.add(part);
    const bytes = pending.bytes;
    const end = changesEnd(bytes);
    if (end.bytes > 0) {
      const piece = bytes.subarray(0, end.bytes);
      hash.update(piece);
      count += end.count;
      yield { bytes: piece, count: end.count };
      pending.drop(end.bytes);
    }
    if (pending.bytes.length > CHANGE_BYTES_MAX + HEAD_BYTES_MAX) {
      throw wrong(what, "it holds too large a change");
    }
  }
  return checkTrailer(pending.bytes, count, hash.digest(), what);
}

/** Where the changes at the front end; a map ends them. */
function changesEnd(bytes: Uint8Array): { bytes: number; count: number } {
  if (isMap(bytes, 0)) return { bytes: 0, count: 0 };
  let to = bytes.length;
  try {
    const scan = scanChangePrefix(bytes, { what: "the answer" });
    return { bytes: scan.end, count: scan.count };
  } catch (error) {
    if (!hasCode(error, "corrupt") || !isMap(bytes, Number(error.details.position))) throw error;
    to = Number(error.details.position);
  }
  return { bytes: to, count: scanChangePrefix(bytes, { to }).count };
}

function isMap(bytes: Uint8Array, at: number): boolean {
  return at < bytes.length && bytes[at] >> 5 === MAP;
}

function checkTrailer(
  bytes: Uint8Array,
  count: number,
  hash: bigint,
  what: string,
): RestoreTrailer {
  const item = isMap(bytes, 0) ? decodeItem(bytes, what) : {};
  if (isObject(item.error)) throw errorOfProblem(item.error);
  if (!isObject(item.end)) throw broken(what, "it ends without its trailer");
  const trailer = {
    count: Number(item.end.count),
    hash: String(item.end.hash),
    confirmed: Number(item.end.confirmed),
  };
  const found = formatHash(hash);
  if (trailer.count !== count || trailer.hash !== found) {
    throw wrong(
      what,
      `its trailer says ${trailer.count} changes with hash ${trailer.hash}, ` +
        `found ${count} with ${found}`,
    );
  }
  return trailer;
}

function decodeItem(bytes: Uint8Array, what: string): JsonObject {
  try {
    return decoder.decode(bytes) as JsonObject;
  } catch (cause) {
    throw broken(what, "its last item can't be read", cause);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** Whether a restore ended too early, so that it can go on after the changes that came. */
export function isBroken(error: unknown): boolean {
  return error instanceof TidemarkError && error.details.isBroken === true;
}

/** It ended too early; what came of it was right as far as it went. */
function broken(what: string, reason: string, cause?: unknown): TidemarkError {
  return cut(what, reason, { details: { isBroken: true }, cause });
}

/** What came is not what was sent. */
function wrong(what: string, reason: string): TidemarkError {
  return cut(what, reason, {});
}

function cut(what: string, reason: string, options: TidemarkErrorOptions): TidemarkError {
  return new TidemarkError(
    "server-unreachable",
    `Cannot restore ${what}: the answer was cut short: ${reason}; restore again`,
    options,
  );
}

/** Bytes that came and were not taken yet, in one growing buffer. */
class PendingBytes {
  #buffer = new Uint8Array(BUFFER_BYTES);
  #from = 0;
  #to = 0;

  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#from, this.#to);
  }

  add(part: Uint8Array): void {
    const length = this.#to - this.#from;
    if (this.#to + part.length > this.#buffer.length) {
      const needed = length + part.length;
      const target = needed > this.#buffer.length ? new Uint8Array(2 * needed) : this.#buffer;
      target.set(this.bytes);
      this.#buffer = target;
      this.#from = 0;
      this.#to = length;
    }
    this.#buffer.set(part, this.#to);
    this.#to += part.length;
  }

  drop(bytes: number): void {
    this.#from += bytes;
  }
}
