/** Encodes changes one after the other into bytes that grow. @module */
import type { EncodedChanges } from "../types.ts";
import { encodeChange, encodeChangeHead, encodedChangeBytes } from "./change.ts";

/** Gathers changes; takes for granted that they are valid. */
export class ChangeBuilder {
  #bytes: Uint8Array;
  #length = 0;
  #count = 0;
  #keyGroupMin = 0;
  #keyGroupMax = 0;

  /** @param capacity Bytes to begin with. */
  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  /** Takes bytes that are encoded already. */
  addEncoded(encoded: Uint8Array, scanned: Omit<EncodedChanges, "bytes">): void {
    this.#reserve(encoded.length);
    this.#bytes.set(encoded, this.#length);
    this.#length += encoded.length;
    if (scanned.count === 0) return;
    this.#note(scanned.keyGroupMin, scanned.count);
    this.#note(scanned.keyGroupMax, 0);
  }

  add(keyGroup: number, data: Uint8Array): void {
    this.#reserve(encodedChangeBytes(keyGroup, data.length));
    this.#length = encodeChange(this.#bytes, this.#length, keyGroup, data);
    this.#note(keyGroup, 1);
  }

  /** Makes a change of `length` bytes; answers where they go, to be filled before the next call. */
  addHead(keyGroup: number, length: number): Uint8Array {
    this.#reserve(encodedChangeBytes(keyGroup, length));
    const start = encodeChangeHead(this.#bytes, this.#length, keyGroup, length);
    this.#length = start + length;
    this.#note(keyGroup, 1);
    return this.#bytes.subarray(start, this.#length);
  }

  finish(): EncodedChanges {
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      count: this.#count,
      keyGroupMin: this.#keyGroupMin,
      keyGroupMax: this.#keyGroupMax,
    };
  }

  #note(keyGroup: number, count: number): void {
    if (this.#count === 0) this.#keyGroupMin = this.#keyGroupMax = keyGroup;
    if (keyGroup < this.#keyGroupMin) this.#keyGroupMin = keyGroup;
    if (keyGroup > this.#keyGroupMax) this.#keyGroupMax = keyGroup;
    this.#count += count;
  }

  #reserve(count: number): void {
    const wanted = this.#length + count;
    if (wanted <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(wanted, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
