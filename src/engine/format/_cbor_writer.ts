/** CBOR in the hot path of a batch: few kinds of items, no memory per item. @module */
import { MAJOR } from "./_cbor_head.ts";

/** Most bytes of a head. */
const HEAD_BYTES_MAX = 9;
const HEAD_OF_EIGHT_BYTES = 0x1b;

/** Writes items one after the other, in preferred encoding; hashes always take eight bytes. */
export class CborWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  /** What was written since {@link clear}; valid until the next call of anything. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Begins an array. */
  array(length: number): void {
    this.#head(MAJOR.array << 5, length);
  }

  /** A whole number from -1 to 2^53 - 1. */
  integer(value: number): void {
    if (value < 0) this.#head(MAJOR.negative << 5, -1 - value);
    else this.#head(MAJOR.unsigned << 5, value);
  }

  /** A text of ASCII characters. */
  text(text: string): void {
    this.#head(MAJOR.text << 5, text.length);
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
  }

  /** A byte string. */
  byteString(bytes: Uint8Array): void {
    this.#head(MAJOR.bytes << 5, bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A u64. */
  hash(hash: bigint): void {
    this.#reserve(HEAD_BYTES_MAX);
    this.#bytes[this.#length++] = HEAD_OF_EIGHT_BYTES;
    this.#bigEndian(Number(hash >> 32n), 4);
    this.#bigEndian(Number(hash & 0xffffffffn), 4);
  }

  #head(major: number, value: number): void {
    this.#reserve(HEAD_BYTES_MAX);
    const bytes = this.#bytes;
    if (value < 24) {
      bytes[this.#length++] = major | value;
    } else if (value < 0x100) {
      bytes[this.#length++] = major | 0x18;
      bytes[this.#length++] = value;
    } else if (value < 0x10000) {
      bytes[this.#length++] = major | 0x19;
      this.#bigEndian(value, 2);
    } else if (value < 0x100000000) {
      bytes[this.#length++] = major | 0x1a;
      this.#bigEndian(value, 4);
    } else {
      bytes[this.#length++] = major | HEAD_OF_EIGHT_BYTES;
      this.#bigEndian(Math.floor(value / 0x100000000), 4);
      this.#bigEndian(value % 0x100000000, 4);
    }
  }

  #bigEndian(value: number, count: number): void {
    for (let shift = 8 * (count - 1); shift >= 0; shift -= 8) {
      this.#bytes[this.#length++] = (value >>> shift) & 0xff;
    }
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#length + count, 2 * this.#bytes.length));
    larger.set(this.bytes);
    this.#bytes = larger;
  }
}
