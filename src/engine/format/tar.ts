/**
 * A tar archive (POSIX ustar) of plain files, written and read as a stream.
 * Owns: the frames of an archive. Does not own: which files are in it.
 *
 * Read is only what is written here: plain files with plain names. Each step waits until it is asked for, so that no
 * more is held than the piece that came last; nothing is taken from an archive's word but the length of what follows.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { COUNT_MAX } from "../limits.ts";

const BLOCK_BYTES = 512;
/** Longest name, and longest folder before it. */
const NAME_BYTES_MAX = 100;
const PREFIX_BYTES_MAX = 155;
/** From here on a length stands in base 256, as GNU tar and bsdtar have it. */
const OCTAL_SIZE_MAX = 8 ** 11 - 1;
/** Zeros that fill the last record up: what writes archives writes records of 10 KiB, or at most twenty times that. */
const FILL_BYTES_MAX = 20 * 20 * BLOCK_BYTES;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One file of an archive. */
export interface TarEntry {
  /** Its path, with `/` between the parts. */
  readonly name: string;
  /** Bytes of its content. */
  readonly size: number;
}

/**
 * Writes the header of a file; its content follows, then {@link tarPadding}.
 *
 * @param modifiedMs When it was changed last, in milliseconds since 1970.
 */
export function tarHeader({ name, size }: TarEntry, modifiedMs: number): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
  const put = (at: number, text: string): void => block.set(encoder.encode(text), at);
  const octal = (at: number, digits: number, value: number): void =>
    put(at, value.toString(8).padStart(digits, "0"));
  const cut = name.length <= NAME_BYTES_MAX ? -1 : name.lastIndexOf("/", PREFIX_BYTES_MAX);
  if (name.length - cut - 1 > NAME_BYTES_MAX) {
    throw new RangeError(`Cannot write ${name} into an archive: it is too long`);
  }
  put(0, name.slice(cut + 1));
  octal(100, 7, 0o644);
  octal(108, 7, 0);
  octal(116, 7, 0);
  if (size <= OCTAL_SIZE_MAX) octal(124, 11, size);
  else putBase256(block, size);
  octal(136, 11, Math.floor(modifiedMs / 1000));
  put(156, "0");
  put(257, "ustar\u000000");
  if (cut > 0) put(345, name.slice(0, cut));
  put(148, `${sumOf(block).toString(8).padStart(6, "0")}\0 `);
  return block;
}

function putBase256(block: Uint8Array, size: number): void {
  const view = new DataView(block.buffer);
  view.setUint8(124, 0x80);
  view.setBigUint64(128, BigInt(size));
}

/** Zeros that fill the last block of a content up. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES);
}

/** What ends an archive. */
export function tarEnd(): Uint8Array {
  return new Uint8Array(2 * BLOCK_BYTES);
}

/** Bytes of a file in an archive, its header and padding included. */
export function tarBytesOf(size: number): number {
  return BLOCK_BYTES + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}

/** The sum of a header's bytes, its own place taken for spaces. */
function sumOf(block: Uint8Array): number {
  let sum = 8 * 0x20;
  for (let i = 0; i < BLOCK_BYTES; i++) if (i < 148 || i >= 156) sum += block[i];
  return sum;
}

/** Reads an archive, file by file. */
export class TarReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);
  /** Bytes that were read. */
  #at = 0;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#pieces = bytes[Symbol.asyncIterator]();
  }

  /**
   * Reads the next header; the content of the file before must have been read.
   *
   * @returns The file; undefined at the end of the archive, of which nothing but zeros is left.
   * @throws {TidemarkError} `invalid-archive`
   */
  async next(): Promise<TarEntry | undefined> {
    const at = this.#at;
    const block = await this.#block("a header");
    if (block.some((byte) => byte !== 0)) return this.#parse(block, at);
    const second = await this.#block("its end");
    if (second.some((byte) => byte !== 0)) throw this.#bad("it has one block of zeros", at);
    await this.#readFill();
    return undefined;
  }

  /** Reads the content of the file whose header was read last. */
  async *content({ name, size }: TarEntry): AsyncGenerator<Uint8Array, void> {
    for (let left = size; left > 0;) {
      const piece = await this.#take(left);
      if (piece === undefined) {
        throw this.#bad(`it ends within ${name}, of which ${left} of ${size} bytes are missing`);
      }
      left -= piece.length;
      yield piece;
    }
    for (let left = tarPadding(size).length; left > 0;) {
      const piece = await this.#take(left);
      if (piece === undefined) throw this.#bad(`it ends after ${name}`);
      if (piece.some((byte) => byte !== 0)) {
        throw this.#bad(`${name} is longer than its header says`);
      }
      left -= piece.length;
    }
  }

  /** Lets go of what the archive comes from. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  #parse(block: Uint8Array, at: number): TarEntry {
    const text = (from: number, length: number): string => {
      const bytes = block.subarray(from, from + length);
      const end = bytes.indexOf(0);
      return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
    };
    const sum = Number.parseInt(text(148, 8), 8);
    if (sum !== sumOf(block)) throw this.#bad("its bytes are no header of a file", at);
    const type = text(156, 1);
    const name = [text(345, PREFIX_BYTES_MAX), text(0, NAME_BYTES_MAX)].filter((part) =>
      part !== ""
    ).join("/");
    const isPlain = (type === "0" || type === "") && text(257, 5) === "ustar" &&
      text(157, 1) === "";
    if (!isPlain) {
      throw this.#bad(
        `${JSON.stringify(name)} is no plain file (type ${JSON.stringify(type)})`,
        at,
      );
    }
    return { name, size: this.#size(block, text(124, 12), { name, at }) };
  }

  #size(block: Uint8Array, text: string, { name, at }: { name: string; at: number }): number {
    let size = NaN;
    if (block[124] === 0x80) {
      const high = block.subarray(125, 128).some((byte) => byte !== 0);
      const low = new DataView(block.buffer, block.byteOffset).getBigUint64(128);
      if (!high && low <= COUNT_MAX) size = Number(low);
    } else if (/^[0-7]+ *$/.test(text)) {
      size = Number.parseInt(text, 8);
    }
    if (!Number.isSafeInteger(size)) {
      throw this.#bad(`the length of ${JSON.stringify(name)} can't be read`, at);
    }
    return size;
  }

  /** What follows the end must be zeros, and soon be over. */
  async #readFill(): Promise<void> {
    let filled = 0;
    for (;;) {
      const piece = await this.#take(FILL_BYTES_MAX);
      if (piece === undefined) return;
      filled += piece.length;
      if (filled > FILL_BYTES_MAX || piece.some((byte) => byte !== 0)) {
        throw this.#bad("it goes on after its end");
      }
    }
  }

  async #block(what: string): Promise<Uint8Array> {
    const block = new Uint8Array(BLOCK_BYTES);
    for (let filled = 0; filled < BLOCK_BYTES;) {
      const piece = await this.#take(BLOCK_BYTES - filled);
      if (piece === undefined) throw this.#bad(`it ends where ${what} should be`);
      block.set(piece, filled);
      filled += piece.length;
    }
    return block;
  }

  /** Up to so many of the next bytes; undefined when there are none. */
  async #take(bytesMax: number): Promise<Uint8Array | undefined> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done === true) return undefined;
      if (!(value instanceof Uint8Array)) {
        throw new TypeError("Cannot read an archive: it must come as Uint8Arrays");
      }
      this.#piece = value;
    }
    const taken = this.#piece.subarray(0, bytesMax);
    this.#piece = this.#piece.subarray(taken.length);
    this.#at += taken.length;
    return taken;
  }

  #bad(what: string, at: number = this.#at): TidemarkError {
    return invalidArchive(`at byte ${at} ${what}`, { at });
  }
}

/** The error of an archive that can't be used. */
export function invalidArchive(
  what: string,
  details: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): TidemarkError {
  return new TidemarkError(
    "invalid-archive",
    `Cannot import the archive: ${what}; nothing of it was taken`,
    { details, cause },
  );
}
