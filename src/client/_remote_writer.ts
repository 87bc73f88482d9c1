/**
 * One writer of a run, as this client appends to it.
 *
 * Owns: its batches, their offsets, the one request under way, who waits for durability.
 * Does not own: the bound on memory, the run and where it began, what a checkpoint holds back (`_remote_run.ts`).
 */
import { orAborted } from "../engine/checkpoint/or_aborted.ts";
import { TidemarkError } from "../engine/errors.ts";
import { encodeChanges } from "../engine/format/change_input.ts";
import { checkChange, encodedChangeBytes } from "../engine/format/change.ts";
import { META_KEY_GROUP } from "../engine/limits.ts";
import type { Timer } from "../engine/port/clock.ts";
import type {
  AppendAtOptions,
  AppendResult,
  Change,
  EncodedChanges,
  PersistResult,
  WaitOptions,
} from "../engine/types.ts";
import { type Batch, BatchQueue } from "./_batch_queue.ts";
import { isTransient } from "./_problem.ts";
import type { WriterContext } from "./_writer_context.ts";
import type { RemoteWriter } from "./types.ts";

interface Waiter {
  /** How many changes must be durable. */
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A writer of one run. */
export class RunWriter implements RemoteWriter {
  readonly id: string;
  readonly #run: WriterContext;
  readonly #queue: BatchQueue;
  #waiters: Waiter[] = [];
  /** How many changes of this run are durable. */
  #durable = 0;
  /** The changes before this one are wanted now; those after it may gather. */
  #wanted = 0;
  #isSending = false;
  #timer: Timer | undefined;
  #ended: TidemarkError | undefined;
  /** Whether somebody heard of what it ended with. */
  #isTold = false;

  constructor(id: string, run: WriterContext) {
    this.id = id;
    this.#run = run;
    this.#queue = new BatchQueue(run.settings.batchBytesMax);
  }

  get nextOffset(): number | undefined {
    return this.#offsetOf(this.#queue.appended);
  }

  get durableOffset(): number | undefined {
    return this.#offsetOf(this.#durable);
  }

  append(keyGroup: number, data: Uint8Array): number | undefined {
    this.#checkUsable();
    checkChange(keyGroup, data.length);
    this.#admit(encodedChangeBytes(keyGroup, data.length));
    return this.#added(this.#queue.add(keyGroup, data));
  }

  appendMeta(data: Uint8Array): number | undefined {
    return this.append(META_KEY_GROUP, data);
  }

  appendBatch(changes: Iterable<Change>): number | undefined {
    return this.appendEncoded(encodeChanges(changes));
  }

  appendEncoded(changes: EncodedChanges): number | undefined {
    this.#checkUsable();
    if (changes.count === 0) return this.nextOffset;
    this.#admit(changes.bytes.length);
    return this.#added(this.#queue.addEncoded(changes));
  }

  async appendAt(
    expected: number | undefined,
    changes: EncodedChanges,
    options: AppendAtOptions = {},
  ): Promise<AppendResult> {
    return await this.#run.appendAt(this.id, expected, changes, options);
  }

  async persist({ signal }: WaitOptions = {}): Promise<{ readonly durableOffset: number }> {
    signal?.throwIfAborted();
    await orAborted(this.flush(this.#queue.appended), signal);
    await this.#run.attached(signal);
    return { durableOffset: this.durableOffset! };
  }

  async segments(from?: number, options: WaitOptions = {}): Promise<PersistResult> {
    await this.persist(options);
    return await this.#run.segments(this.id, from, options);
  }

  async nextSequenceNumber(options: WaitOptions = {}): Promise<number> {
    await this.persist(options);
    return await this.#run.roll(this.id, options);
  }

  async truncate(to: number, options: WaitOptions = {}): Promise<void> {
    await this.#run.truncate(this.id, to, options);
  }

  /** Sends what was appended, up to so many changes, and waits until it is durable. */
  flush(upTo: number): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#tell(this.#ended));
    if (this.#durable >= upTo) return Promise.resolve();
    this.#wanted = Math.max(this.#wanted, upTo);
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo, resolve, reject });
      this.wake();
    });
  }

  /** Sends everything. @throws what kept something from being durable, unless somebody was told before */
  async drain(): Promise<void> {
    if (this.#ended === undefined) await this.flush(this.cut());
    else if (!this.#isTold && this.#durable < this.#queue.appended) throw this.#tell(this.#ended);
  }

  /** Ends a batch here; answers how many changes lie before. */
  cut(): number {
    return this.#queue.seal();
  }

  /** Sends all that was appended, without anybody waiting for it. */
  relieve(): void {
    this.#wanted = this.#queue.appended;
    this.wake();
  }

  /** Sends what may be sent, one request after the other. */
  wake(): void {
    if (this.#isSending || this.#ended !== undefined) return;
    this.#isSending = true;
    void this.#send();
  }

  /** Takes no more: what is not durable is given up. */
  end(reason: TidemarkError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#timer?.cancel();
    this.#run.throttle.uploadCompleted(this.#queue.clear());
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(this.#tell(reason));
  }

  async #send(): Promise<void> {
    try {
      for (let batch = this.#next(); batch !== undefined; batch = this.#next()) {
        await this.#run.append(this.id, batch);
        // It was ended meanwhile, and has let everything go.
        if (this.#ended !== undefined) return;
        this.#acknowledge(batch);
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isSending = false;
    }
  }

  #next(): Batch | undefined {
    const limit = this.#run.limitOf(this.id);
    if (!this.#queue.hasSealed && this.#durable < this.#wanted) this.#queue.seal();
    return this.#queue.next(limit);
  }

  #acknowledge(batch: Batch): void {
    this.#queue.shift();
    this.#durable = batch.to;
    const done = this.#waiters.filter(({ upTo }) => upTo <= batch.to);
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > batch.to);
    for (const { resolve } of done) resolve();
    this.#run.throttle.uploadCompleted(batch.bytes.length);
  }

  /** What may be taken later stays, for whoever asks again; who waits now is told. */
  #failed(error: unknown): void {
    if (this.#ended !== undefined) return;
    if (!isTransient(error)) {
      this.end(this.#run.failed(error));
      return;
    }
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
    this.#run.stalled(error);
  }

  #admit(bytes: number): void {
    const { bodyBytesMax, inFlightBytesMax } = this.#run.settings;
    if (bytes > bodyBytesMax) {
      throw new TidemarkError(
        "change-too-large",
        `Cannot append ${bytes} bytes to writer ${this.id} at once: a request takes at most ` +
          `${bodyBytesMax}; append them in parts`,
        { details: { writer: this.id, found: bytes, wanted: bodyBytesMax } },
      );
    }
    const { throttle } = this.#run;
    if (throttle.tryAdmit(bytes)) return;
    throw new TidemarkError(
      "backpressure",
      `Cannot append to writer ${this.id}: ${throttle.bytes} bytes wait to be durable, of ` +
        `${inFlightBytesMax}; wait for the job's availability`,
      { details: { writer: this.id, bytes: throttle.bytes, inFlightBytesMax } },
    );
  }

  #added(before: number): number | undefined {
    if (this.#queue.hasSealed) this.wake();
    if (this.#queue.appended > this.#wanted) {
      const { clock, settings } = this.#run;
      this.#timer ??= clock.schedule(settings.batchDelayMs, () => {
        this.#timer = undefined;
        this.relieve();
      }, { keepsAlive: true });
    }
    return this.#offsetOf(before);
  }

  #offsetOf(count: number): number | undefined {
    const start = this.#run.startOf(this.id);
    return start === undefined ? undefined : start + count;
  }

  #checkUsable(): void {
    if (this.#ended === undefined) return;
    const { code, message, details } = this.#tell(this.#ended);
    // Of this call nothing was taken, whatever became of the others.
    throw new TidemarkError(code, message, { details, cause: this.#ended });
  }

  #tell(reason: TidemarkError): TidemarkError {
    this.#isTold = true;
    return reason;
  }
}
