/** Changes of one writer on their way to the sidecar, gathered into batches. */
import { encodeChange, encodedChangeBytes } from "../engine/format/change.ts";
import type { EncodedChanges } from "../engine/types.ts";

const FIRST_BYTES = 4096;

/** Changes that go in one request. They never change once they were sent: a repeated append must be the same. */
export interface Batch {
  /** How many changes of this run were appended before its first one. */
  readonly from: number;
  /** How many were with its last one. */
  readonly to: number;
  /** A CBOR sequence of `[keyGroup, bytes]`. */
  readonly bytes: Uint8Array;
}

/** Gathers batches, and gives them out in order. */
export class BatchQueue {
  readonly #batchBytesMax: number;
  readonly #sealed: Batch[] = [];
  #open: OpenBatch | undefined;
  #appended = 0;

  constructor(batchBytesMax: number) {
    this.#batchBytesMax = batchBytesMax;
  }

  /** How many changes were taken in, in all. */
  get appended(): number {
    return this.#appended;
  }

  /** Whether there is a batch that takes no more. */
  get hasSealed(): boolean {
    return this.#sealed.length > 0;
  }

  /** Takes a change in; answers how many there were before. */
  add(keyGroup: number, data: Uint8Array): number {
    const batch = this.#openFor(encodedChangeBytes(keyGroup, data.length));
    batch.add(keyGroup, data);
    return this.#added(1);
  }

  /** Takes changes in that belong into one batch. */
  addEncoded({ bytes, count }: EncodedChanges): number {
    if (bytes.length >= this.#batchBytesMax) {
      this.seal();
      this.#sealed.push({ from: this.#appended, to: this.#appended + count, bytes });
    } else {
      this.#openFor(bytes.length).addEncoded(bytes, count);
    }
    return this.#added(count);
  }

  /** Ends the batch that is being gathered; answers how many changes lie before the next one. */
  seal(): number {
    const open = this.#open;
    if (open !== undefined) this.#sealed.push(open.end());
    this.#open = undefined;
    return this.#appended;
  }

  /** The next batch, unless it reaches beyond `limit`; it stays until it is taken off. */
  next(limit: number): Batch | undefined {
    const [batch] = this.#sealed;
    return batch !== undefined && batch.to <= limit ? batch : undefined;
  }

  /** Takes off the batch that {@link next} gave. */
  shift(): void {
    this.#sealed.shift();
  }

  /** Forgets everything; answers how many bytes that were. */
  clear(): number {
    this.seal();
    return this.#sealed.splice(0).reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  #openFor(bytes: number): OpenBatch {
    if (this.#open !== undefined && this.#open.length + bytes > this.#batchBytesMax) this.seal();
    return this.#open ??= new OpenBatch(this.#appended, this.#batchBytesMax);
  }

  #added(count: number): number {
    const before = this.#appended;
    this.#appended += count;
    if (this.#open !== undefined && this.#open.length >= this.#batchBytesMax) this.seal();
    return before;
  }
}

/** A batch that is being gathered. */
class OpenBatch {
  readonly #from: number;
  readonly #bytesMax: number;
  #bytes: Uint8Array;
  #count = 0;
  length = 0;

  constructor(from: number, bytesMax: number) {
    this.#from = from;
    this.#bytesMax = bytesMax;
    this.#bytes = new Uint8Array(Math.min(FIRST_BYTES, bytesMax));
  }

  add(keyGroup: number, data: Uint8Array): void {
    this.#reserve(encodedChangeBytes(keyGroup, data.length));
    this.length = encodeChange(this.#bytes, this.length, keyGroup, data);
    this.#count++;
  }

  addEncoded(bytes: Uint8Array, count: number): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
    this.#count += count;
  }

  end(): Batch {
    const bytes = this.#bytes.subarray(0, this.length);
    return { from: this.#from, to: this.#from + this.#count, bytes };
  }

  /** Grows up to a batch's size, and beyond it only for one change that is larger. */
  #reserve(count: number): void {
    const wanted = this.length + count;
    if (wanted <= this.#bytes.length) return;
    const doubled = Math.min(this.#bytes.length * 2, this.#bytesMax);
    const larger = new Uint8Array(Math.max(wanted, doubled));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}
