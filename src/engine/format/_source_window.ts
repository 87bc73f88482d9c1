/** Reads an object forwards, through a window in the codec's memory. @module */
import type { Codec } from "../../../wasm/mod.ts";
import { MIB } from "../limits.ts";
import { type ByteSource, readRange, readRangeInto } from "./byte_source.ts";
import { Malformed } from "./_malformed.ts";

const READ_BYTES = MIB;

/** The bytes of a source from some position on, as they are asked for. */
export class SourceWindow {
  /** Position in the source of what comes next. */
  position: number;
  readonly #source: ByteSource;
  readonly #limit: number;
  readonly #codec: Codec;
  readonly #start: number;
  /** Where what comes next is in memory, and where what was read ends. */
  #next: number;
  #end: number;

  /**
   * @param range Positions of the first byte to read and of the first not to read any more.
   * @param start Where in the codec's memory the window begins; it takes all from there on.
   */
  constructor(
    source: ByteSource,
    range: { from: number; to: number },
    memory: { codec: Codec; start: number },
  ) {
    this.#source = source;
    this.#limit = range.to;
    this.position = range.from;
    this.#codec = memory.codec;
    this.#start = this.#next = this.#end = memory.start;
  }

  /** Where in memory what comes next is, as far as it was needed. */
  get at(): number {
    return this.#next;
  }

  /** Bytes up to the limit. */
  get left(): number {
    return this.#limit - this.position;
  }

  /**
   * Makes sure that the next `count` bytes are in memory; answers where.
   *
   * @throws {Malformed} There are not as many up to the limit.
   */
  async need(count: number): Promise<number> {
    if (count > this.left) {
      throw new Malformed(`it needs ${count} bytes at byte ${this.position}, has ${this.left}`);
    }
    if (this.#end - this.#next < count) await this.#read(count);
    return this.#next;
  }

  /** Copies the next `count` bytes out. */
  async peek(count: number): Promise<Uint8Array> {
    const at = await this.need(count);
    return this.#codec.bytes.slice(at, at + count);
  }

  /** Passes over bytes that are in memory. */
  skip(count: number): void {
    this.#next += count;
    this.position += count;
  }

  /** Copies the next `count` bytes out and passes over them. May be more than the window holds. */
  async take(count: number): Promise<Uint8Array> {
    if (count > READ_BYTES) return await this.#takeLarge(count);
    const at = await this.need(count);
    this.skip(count);
    return this.#codec.bytes.slice(at, at + count);
  }

  async #takeLarge(count: number): Promise<Uint8Array> {
    if (count > this.left) {
      throw new Malformed(`it needs ${count} bytes at byte ${this.position}, has ${this.left}`);
    }
    const bytes = await readRange(this.#source, this.position, this.position + count);
    this.position += count;
    this.#next = this.#end = this.#start;
    return bytes;
  }

  async #read(count: number): Promise<void> {
    const memory = this.#codec.bytes;
    const kept = this.#end - this.#next;
    if (this.#next !== this.#start) {
      memory.copyWithin(this.#start, this.#next, this.#end);
      this.#next = this.#start;
      this.#end = this.#start + kept;
    }
    const from = this.position + kept;
    const to = Math.min(this.#limit, Math.max(this.position + count, from + READ_BYTES));
    const end = this.#end + to - from;
    await readRangeInto(this.#source, from, memory.subarray(this.#end, end));
    this.#end = end;
  }
}
