/**
 * Tasks that wait to be uploaded, in order of arrival.
 * Owns: when a batch is due, and which tasks are in it. Does not own: timers, uploads.
 * @module
 */
import { MIB } from "../limits.ts";

/** To wait for more than so many bytes costs more than a shared upload saves. */
const GATHERED_BYTES_MAX = 1.5 * MIB;
/** What is less is encoded so soon that it may as well wait for others. */
const CLOSED_BYTES_MIN = MIB;
/** Milliseconds that 1 MiB takes to encode, about. */
const ENCODE_MS_PER_MIB = 1.5;
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
  /** So many from the front are the next batch, come what may. */
  #closed = 0;
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
    return this.#queued.length < this.#expected && this.#hasRoomForMore;
  }

  /** Whether one more, as large as those that wait, may be waited for. */
  get #hasRoomForMore(): boolean {
    return this.#bytes + this.#bytes / this.#queued.length <= GATHERED_BYTES_MAX;
  }

  /** Takes the next batch out: in order, up to and with the task that reaches the threshold, unless it was closed. */
  takeBatch(): Item[] {
    if (this.#isGathering) this.#impatient = BATCHES_AFTER_VAIN_WAIT;
    this.#expected = 0;
    const { count, bytes } = this.#measureBatch();
    return this.#take(count, bytes);
  }

  /**
   * Closes the batch that comes next, so that it can be encoded while the disk works: what is added from now on goes
   * into a later one. It is closed when it is full, or when to encode it takes longer than the disk, so that more is
   * gained than those lose who would have joined it.
   *
   * @param diskMs Milliseconds that the disk will work.
   * @returns That batch, or the one that was closed before; undefined while more may join it.
   */
  close(nowMs: number, diskMs: number): Item[] | undefined {
    if (this.#closed === 0) {
      const { count, bytes } = this.#measureBatch();
      if (count === 0 || !this.#isWorthClosing(bytes, diskMs)) return undefined;
      if (this.dueInMs(nowMs)! > 0) return undefined;
      this.#closed = count;
    }
    return this.#queued.slice(0, this.#closed).map(({ item }) => item);
  }

  #isWorthClosing(bytes: number, diskMs: number): boolean {
    if (bytes >= this.#options.thresholdBytes) return true;
    return bytes >= CLOSED_BYTES_MIN && bytes / MIB * ENCODE_MS_PER_MIB >= diskMs;
  }

  /** Takes everything out. */
  takeAll(): Item[] {
    return this.#take(this.#queued.length, this.#bytes);
  }

  #measureBatch(): { count: number; bytes: number } {
    let count = 0;
    let bytes = 0;
    const countMax = this.#closed === 0 ? this.#queued.length : this.#closed;
    while (count < countMax && (count === 0 || bytes < this.#options.thresholdBytes)) {
      bytes += this.#queued[count++].size;
    }
    return { count, bytes };
  }

  #take(count: number, bytes: number): Item[] {
    this.#bytes -= bytes;
    this.#closed = 0;
    this.#flushed = Math.max(0, this.#flushed - count);
    return this.#queued.splice(0, count).map(({ item }) => item);
  }
}
