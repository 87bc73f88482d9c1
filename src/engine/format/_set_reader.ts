/** Reads one change set out of a body. @module */
import type { TidemarkError } from "../errors.ts";
import { BODY_WINDOW_BYTES, type BodyReader } from "./_body_reader.ts";
import { sameBytes } from "./_bytes.ts";
import { readChangeHead } from "./_change_head.ts";
import { corrupt } from "./_malformed.ts";
import { findChanges, type Summary } from "./_places.ts";
import type { ByteSource } from "./byte_source.ts";
import type { Batch } from "./change_file.ts";
import { type ChangeSetEntry, encodeSetHeader } from "./change_set.ts";

/** Some whole changes of a change set, next to each other. */
export interface ChangeSlice {
  readonly entry: ChangeSetEntry;
  /** Offset of the first of them. */
  readonly firstOffset: number;
  readonly count: number;
  /** The encoded changes: a view, valid until the next slice is asked for. */
  readonly bytes: Uint8Array;
}

/** Where a change set ends in its body. */
export function endOf(set: ChangeSetEntry): number {
  return set.bodyOffset + set.headerLength + set.byteLength;
}

/** One change set. */
export class SetReader {
  readonly #body: BodyReader;
  readonly #set: ChangeSetEntry;
  readonly #source: ByteSource;
  readonly #batch: Batch;
  readonly #end: number;
  /** Place in the body of the next change. */
  #at: number;
  #count = 0;
  #keyGroupMin = Infinity;
  #keyGroupMax = -Infinity;

  constructor(
    body: BodyReader,
    set: ChangeSetEntry,
    from: { source: ByteSource; batch: Batch },
  ) {
    this.#body = body;
    this.#set = set;
    this.#source = from.source;
    this.#batch = from.batch;
    this.#at = set.bodyOffset + set.headerLength;
    this.#end = endOf(set);
  }

  /** Its changes, in slices. */
  async *slices(): AsyncGenerator<ChangeSlice, void> {
    const entry = this.#set;
    const item = await this.#body.get(entry.bodyOffset, this.#at);
    if (!sameBytes(item, encodeSetHeader(entry))) {
      throw this.#bad("the item before its changes does not say what the index says");
    }
    while (this.#at < this.#end) {
      const firstOffset = entry.firstOffset + this.#count;
      const window = await this.#body.get(this.#at, this.#windowEnd());
      const found = this.#find(window);
      const bytes = found.count > 0 ? window.subarray(0, found.end) : await this.#readLarge(window);
      const slice = found.count > 0 ? found : findChanges(bytes, 0, bytes.length);
      this.#note(slice, bytes.length);
      yield { entry, firstOffset, count: slice.count, bytes };
    }
    this.#checkWhole();
  }

  #windowEnd(): number {
    return Math.min(this.#end, this.#at + BODY_WINDOW_BYTES);
  }

  #find(window: Uint8Array): Summary {
    const found = findChanges(window, 0, window.length);
    if (found.end === window.length) return found;
    const head = readChangeHead(window, found.end, window.length);
    const where = `change ${this.#count + found.count}`;
    if (head === "incomplete") {
      if (this.#windowEnd() === this.#end) throw this.#bad(`${where} is cut off`);
      return found;
    }
    if ("reason" in head) throw this.#bad(`${where} is malformed: ${head.reason}`);
    if (this.#at + head.end > this.#end) throw this.#bad(`${where} is cut off`);
    return found;
  }

  /** Reads a change that is larger than the window; its head, which is in it, says how large. */
  async #readLarge(window: Uint8Array): Promise<Uint8Array> {
    const head = readChangeHead(window, 0, window.length);
    if (typeof head !== "object" || !("end" in head)) throw this.#bad("it has no whole change");
    const change = new Uint8Array(head.end);
    change.set(window);
    for (let filled = window.length; filled < change.length;) {
      const to = Math.min(change.length, filled + BODY_WINDOW_BYTES);
      change.set(await this.#body.get(this.#at + filled, this.#at + to), filled);
      filled = to;
    }
    return change;
  }

  #note(slice: Summary, length: number): void {
    this.#at += length;
    this.#count += slice.count;
    this.#keyGroupMin = Math.min(this.#keyGroupMin, slice.keyGroupMin);
    this.#keyGroupMax = Math.max(this.#keyGroupMax, slice.keyGroupMax);
    if (this.#count > this.#set.count) this.#checkWhole();
  }

  #checkWhole(): void {
    const { count, keyGroupMin, keyGroupMax } = this.#set;
    if (
      this.#count === count && this.#keyGroupMin === keyGroupMin &&
      this.#keyGroupMax === keyGroupMax
    ) return;
    throw this.#bad(
      `it has ${this.#count} changes of key groups ${this.#keyGroupMin} to ${this.#keyGroupMax}, ` +
        `the index says ${count} of ${keyGroupMin} to ${keyGroupMax}`,
    );
  }

  #bad(reason: string): TidemarkError {
    const { writer, sequenceNumber } = this.#set;
    const { number, position, indexPosition } = this.#batch;
    const what = `change set ${sequenceNumber} of writer ${
      JSON.stringify(writer)
    } in batch ${number}`;
    return corrupt({ key: this.#source.key, from: position, to: indexPosition }, what, reason);
  }
}
