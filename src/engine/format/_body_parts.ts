/** The body of a batch, copied out in runs of any length: each set's header item, then its changes. @module */
import { type ChangeSet, encodeSetHeader, writeSetHeader } from "./change_set.ts";

/** Reads the body from its beginning to its end. */
export class BodyParts {
  readonly #sets: readonly ChangeSet[];
  /** Set that comes next, or whose chunks are being copied. */
  #set = 0;
  /** Chunk of the set; -1: its header. */
  #chunk = -1;
  /** Bytes of the header or chunk that are copied. */
  #offset = 0;
  /** A header that does not fit what is left of a run. */
  #cutHeader: Uint8Array | undefined;
  readonly #headerLength: (index: number) => number;

  /** @param headerLength Bytes of the header item of each set. */
  constructor(sets: readonly ChangeSet[], headerLength: (index: number) => number) {
    this.#sets = sets;
    this.#headerLength = headerLength;
  }

  /** Copies the next `length` bytes; as many are there. */
  copy(target: Uint8Array, at: number, length: number): void {
    const end = at + length;
    while (at < end) {
      const set = this.#sets[this.#set];
      if (this.#chunk < 0) at = this.#copyHeader(target, at, end);
      else if (this.#chunk === set.chunks.length) this.#nextSet();
      else at = this.#copyPart(set.chunks[this.#chunk], target, at, end);
    }
  }

  #copyHeader(target: Uint8Array, at: number, end: number): number {
    const set = this.#sets[this.#set];
    if (this.#cutHeader === undefined && at + this.#headerLength(this.#set) <= end) {
      this.#chunk = 0;
      return writeSetHeader(target, at, set);
    }
    this.#cutHeader ??= encodeSetHeader(set);
    return this.#copyPart(this.#cutHeader, target, at, end);
  }

  /** Copies what there is room for of a part; goes on to the next when that was all. */
  #copyPart(part: Uint8Array, target: Uint8Array, at: number, end: number): number {
    const from = this.#offset;
    const count = Math.min(part.length - from, end - at);
    const isWhole = count === part.length;
    target.set(isWhole ? part : part.subarray(from, from + count), at);
    this.#offset += count;
    if (this.#offset === part.length) {
      this.#chunk++;
      this.#offset = 0;
    }
    return at + count;
  }

  #nextSet(): void {
    this.#set++;
    this.#chunk = -1;
    this.#cutHeader = undefined;
  }
}
