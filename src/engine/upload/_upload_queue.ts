/**
 * Tasks that wait to be uploaded, in order of arrival.
 * Owns: when a batch is due, and which tasks are in it. Does not own: timers, uploads.
 * @module
 */
import { MIB } from "../limits.ts";

/** From so many waiting bytes on, to wait longer costs more than a shared upload saves. */
const GATHERED_BYTES_MAX = MIB;
/** So many batches wait for nobody after one that has waited in vain: tasks come by themselves then. */
const BATCHES_AFTER_VAIN_WAIT = 7;

/** When a batch is due, and how large it is. */
export interface UploadQueueOptions {
  /** Milliseconds after its arrival at which the first task is due; 0: at once. */
  readonly delayMs: number;
  /** Milliseconds at most that a batch waits for those that are expected; 0: for none. */
  readonly gatherMs: number;
  /** Bytes at which a batch is due, and ends. */
  readonly thresholdBytes: number;
}

interface Queued<Item> {
  readonly item: Item;
  readonly size: number;
  readonly dueAtMs: number;
}

/** A queue that gives batches. */
export class UploadQueue<Item> {
  readonly #options: UploadQueueOptions;
  #queued: Queued<Item>[] = [];
  #bytes = 0;
  /** So many from the front are due, whatever their delay. */
  #flushed = 0;
  /** As many tasks come next, it seems, and soon. */
  #expected = 0;
  #gatherUntilMs = 0;
  /** Batches that wait for nobody, before it is tried again. */
  #impatient = 0;

  constructor(options: UploadQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#queued.length;
  }

  add(item: Item, size: number, nowMs: number): void {
    this.#queued.push({ item, size, dueAtMs: nowMs + this.#options.delayMs });
    this.#bytes += size;
  }

  /** Makes all that waits due. */
  flush(): void {
    this.#flushed = this.#queued.length;
  }

  /**
   * Whoever was told of an upload comes again at once, mostly, as those do who wait for the next: the batch waits for as
   * many. One who is alone waits for nobody.
   */
  expectAfter(uploaded: number, nowMs: number): void {
    if (this.#impatient > 0) {
      this.#impatient -= 1;
      return;
    }
    this.#expected = uploaded + this.#queued.length;
    this.#gatherUntilMs = nowMs + this.#options.gatherMs;
  }

  /** Milliseconds until a batch is due: 0 or less when it is, undefined when nothing waits. */
  dueInMs(nowMs: number): number | undefined {
    if (this.#queued.length === 0) return undefined;
    if (this.#flushed > 0 || this.#bytes >= this.#options.thresholdBytes) return 0;
    const { dueAtMs } = this.#queued[0];
    return (this.#isGathering ? Math.max(dueAtMs, this.#gatherUntilMs) : dueAtMs) - nowMs;
  }

  get #isGathering(): boolean {
    return this.#queued.length < this.#expected && this.#bytes < GATHERED_BYTES_MAX;
  }

  /** Takes the next batch out: in order, up to and with the task that reaches the threshold. */
  takeBatch(): Item[] {
    if (this.#isGathering) this.#impatient = BATCHES_AFTER_VAIN_WAIT;
    this.#expected = 0;
    const { count, bytes } = this.#measureBatch();
    return this.#take(count, bytes);
  }

  /** The batch that will be taken next; undefined as long as others may join it. */
  get fullBatch(): Item[] | undefined {
    const { count, bytes } = this.#measureBatch();
    if (count === 0 || bytes < this.#options.thresholdBytes) return undefined;
    return this.#queued.slice(0, count).map(({ item }) => item);
  }

  /** Takes everything out. */
  takeAll(): Item[] {
    return this.#take(this.#queued.length, this.#bytes);
  }

  #measureBatch(): { count: number; bytes: number } {
    let count = 0;
    let bytes = 0;
    while (count < this.#queued.length && (count === 0 || bytes < this.#options.thresholdBytes)) {
      bytes += this.#queued[count++].size;
    }
    return { count, bytes };
  }

  #take(count: number, bytes: number): Item[] {
    this.#bytes -= bytes;
    this.#flushed = Math.max(0, this.#flushed - count);
    return this.#queued.splice(0, count).map(({ item }) => item);
  }
}
