/** Places of the batch indexes of a file, packed the way the frame at its end holds them. @module */
import { writeUint32, writeUint64 } from "./_bytes.ts";

/** Bytes that one place takes: u64 position, u32 length. */
export const PLACE_BYTES = 12;

/** Places that are gathered one after the other. */
export class IndexPlaces {
  #bytes = new Uint8Array(16 * PLACE_BYTES);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The packed places; a view. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#count * PLACE_BYTES);
  }

  add(frame: { indexPosition: number; end: number }): void {
    const at = this.#count * PLACE_BYTES;
    if (at === this.#bytes.length) {
      const larger = new Uint8Array(at * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    writeUint64(this.#bytes, at, frame.indexPosition);
    writeUint32(this.#bytes, at + 8, frame.end - frame.indexPosition);
    this.#count++;
  }
}
