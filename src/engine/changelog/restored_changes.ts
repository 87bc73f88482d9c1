/**
 * A restore, change by change.
 * Owns: the changes' copies. Does not own: where slices come from.
 * @module
 */
import { type ChangeScan, scanChanges } from "../format/change_scan.ts";
import type { RestoredChange, RestoredSlice } from "../types.ts";

/**
 * Bytes of neighbours that share memory, so that a small change costs no allocation of its own. Whoever keeps one of
 * them keeps so many bytes.
 */
const SHARED_BYTES = 8192;

const NOTHING: ChangeScan = scanChanges(new Uint8Array(0));

/** Hands out the changes of slices. A generator would take as long for each change as all the rest of the restore. */
export class RestoredChanges implements AsyncIterator<RestoredChange, undefined> {
  readonly #slices: AsyncGenerator<RestoredSlice>;
  #scan = NOTHING;
  #writer = "";
  #firstOffset = 0;
  /** The next change of the slice. */
  #index = 0;
  /** A copy of some of the slice's bytes, and where in it they begin and end. */
  #shared: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #sharedFrom = 0;
  #sharedTo = 0;
  /** The next slice, when it is on its way. */
  #coming: Promise<unknown> | undefined;

  constructor(slices: AsyncGenerator<RestoredSlice>) {
    this.#slices = slices;
  }

  next(): Promise<IteratorResult<RestoredChange, undefined>> {
    if (this.#coming !== undefined) return this.#after(this.#coming);
    if (this.#index < this.#scan.count) return Promise.resolve(this.#take());
    const coming = this.#goOn();
    this.#coming = coming;
    return coming;
  }

  async return(): Promise<IteratorResult<RestoredChange, undefined>> {
    this.#leave();
    await this.#slices.return(undefined);
    return { done: true, value: undefined };
  }

  /** Whoever asks before the slice is there comes after who asked before, whatever that one got. */
  async #after(coming: Promise<unknown>): Promise<IteratorResult<RestoredChange, undefined>> {
    await Promise.allSettled([coming]);
    return await this.next();
  }

  async #goOn(): Promise<IteratorResult<RestoredChange, undefined>> {
    try {
      const { done, value } = await this.#slices.next();
      this.#leave();
      if (done === true) return { done, value: undefined };
      this.#scan = scanChanges(value.bytes);
      this.#writer = value.writer;
      this.#firstOffset = value.firstOffset;
      return this.#take();
    } finally {
      this.#coming = undefined;
    }
  }

  #leave(): void {
    this.#scan = NOTHING;
    this.#index = this.#sharedFrom = this.#sharedTo = 0;
  }

  #take(): IteratorResult<RestoredChange, undefined> {
    const index = this.#index++;
    const keyGroup = this.#scan.keyGroup(index);
    const data = this.#copy(this.#scan.dataStart(index), this.#scan.dataEnd(index));
    const offset = this.#firstOffset + index;
    return { done: false, value: { writer: this.#writer, offset, keyGroup, data } };
  }

  #copy(from: number, to: number): Uint8Array<ArrayBuffer> {
    const { bytes } = this.#scan;
    if (to > this.#sharedTo) {
      if (to - from >= SHARED_BYTES / 2) return bytes.slice(from, to) as Uint8Array<ArrayBuffer>;
      this.#sharedFrom = from;
      this.#sharedTo = Math.min(from + SHARED_BYTES, bytes.length);
      this.#shared = bytes.slice(from, this.#sharedTo) as Uint8Array<ArrayBuffer>;
    }
    return new Uint8Array(this.#shared.buffer, from - this.#sharedFrom, to - from);
  }
}
