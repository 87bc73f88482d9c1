/**
 * The rolled-over change sets of a writer on their way to being durable.
 * Owns: which of them are durable, failed ones and their retry, who waits for them.
 * Does not own: offsets, what is in them, when a batch is written.
 * @module
 */
import type { ChangeSet } from "../format/change_set.ts";
import type { StateChangeUploadScheduler } from "../upload/scheduler.ts";
import { type UploadResult, UploadTask } from "../upload/upload_task.ts";

/** Places of durable sets that are kept, so that not each one costs a copy of what stands behind it. */
const GAPS_MAX = 64;
/** What the writer appends is counted already. */
const ADMITTED = { isAdmitted: true };

interface PendingSet {
  readonly set: ChangeSet;
  status: "waiting" | "uploading" | "failed";
}

interface Waiter {
  /** Waits until every change set below it is durable. */
  readonly upTo: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** What a queue asks of its writer. */
export interface ChangeSetQueueOwner {
  readonly scheduler: StateChangeUploadScheduler;
  /** A set is durable. Called before anybody who waits for it is told. */
  onDurable(set: ChangeSet, result: UploadResult): void;
  /** A set was dropped before it was known to be durable. */
  onDropped(set: ChangeSet): void;
  /** A set that was dropped is durable after all. */
  onLateLanding(result: UploadResult): void;
}

/** Change sets that are not known to be durable, in order; their numbers follow one another. */
export class ChangeSetQueue {
  readonly #owner: ChangeSetQueueOwner;
  /** Those that are durable leave a gap, which goes when all before it are durable too. */
  #pending: (PendingSet | undefined)[] = [];
  /** Number of the first place. */
  #firstNumber = 0;
  /** Place of the first that is not durable. */
  #head = 0;
  /** Place from which on none was handed to the scheduler. */
  #next = 0;
  /** Sets that have failed, and wait to be handed over again. */
  #failedCount = 0;
  /** Sets that were dropped while they were being uploaded, and have not settled. */
  #lateCount = 0;
  #waiters: Waiter[] = [];
  readonly #onSuccess = (results: readonly UploadResult[]): void => this.#uploaded(results);
  readonly #onFailure = (numbers: readonly number[], error: Error): void => {
    this.#failed(numbers, error);
  };

  constructor(owner: ChangeSetQueueOwner) {
    this.#owner = owner;
  }

  /** The first set that is not known to be durable. */
  get first(): ChangeSet | undefined {
    return this.#pending[this.#head]?.set;
  }

  /** Whether nothing waits, and nothing is being uploaded. */
  get isIdle(): boolean {
    return this.first === undefined && this.#lateCount === 0;
  }

  /** Takes a set in, after those before it. */
  add(set: ChangeSet): void {
    if (this.#pending.length === 0) this.#firstNumber = set.sequenceNumber;
    this.#pending.push({ set, status: "waiting" });
  }

  /** Hands every set that waits or has failed to the scheduler, as one task; never one that is being uploaded. */
  upload(): void {
    const sets = this.#takeThoseToUpload();
    if (sets.length === 0) return;
    const task = new UploadTask(sets, this.#onSuccess, this.#onFailure, ADMITTED);
    this.#owner.scheduler.upload(task);
  }

  #takeThoseToUpload(): ChangeSet[] {
    const { length } = this.#pending;
    if (this.#failedCount === 0 && this.#next === length - 1) {
      // Mostly there is one.
      const pending = this.#pending[this.#next++]!;
      pending.status = "uploading";
      return [pending.set];
    }
    const sets: ChangeSet[] = [];
    for (let i = this.#failedCount > 0 ? this.#head : this.#next; i < length; i++) {
      const pending = this.#pending[i];
      if (pending === undefined || pending.status === "uploading") continue;
      pending.status = "uploading";
      sets.push(pending.set);
    }
    this.#next = length;
    this.#failedCount = 0;
    return sets;
  }

  /** Resolves when every set below `upTo` is durable; rejects when one of them fails. */
  whenDurable(upTo: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal === undefined) {
        this.#waiters.push({ upTo, resolve, reject });
        return;
      }
      const abort = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal.reason);
      };
      const settled = (): void => signal.removeEventListener("abort", abort);
      const waiter: Waiter = {
        upTo,
        resolve: () => (settled(), resolve()),
        reject: (error) => (settled(), reject(error)),
      };
      this.#waiters.push(waiter);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** Drops the sets from a number on, whether they are being uploaded or not; who waits for one is told why. */
  dropFrom(sequenceNumber: number, reason: Error): void {
    const place = Math.max(0, sequenceNumber - this.#firstNumber);
    for (const pending of this.#pending.splice(place)) {
      if (pending === undefined) continue;
      if (pending.status === "failed") this.#failedCount -= 1;
      if (pending.status === "uploading") this.#lateCount += 1;
      this.#owner.onDropped(pending.set);
    }
    this.#next = Math.min(this.#next, this.#pending.length);
    this.#head = Math.min(this.#head, this.#pending.length);
    this.#reject((waiter) => waiter.upTo > sequenceNumber, reason);
  }

  /** Tells everybody who waits that there is nothing more to wait for. */
  end(reason: Error): void {
    this.#reject(() => true, reason);
  }

  #uploaded(results: readonly UploadResult[]): void {
    for (const result of results) {
      const place = result.sequenceNumber - this.#firstNumber;
      const pending = this.#pending[place];
      if (pending === undefined) {
        this.#lateCount -= 1;
        this.#owner.onLateLanding(result);
        continue;
      }
      this.#pending[place] = undefined;
      this.#owner.onDurable(pending.set, result);
    }
    this.#closeGaps();
    const durable = this.first?.sequenceNumber ?? Number.MAX_SAFE_INTEGER;
    let kept = 0;
    for (const waiter of this.#waiters) {
      if (waiter.upTo <= durable) waiter.resolve();
      else this.#waiters[kept++] = waiter;
    }
    this.#waiters.length = kept;
  }

  /** Goes on to the first set that is not durable, and lets go of the places before it, some at a time. */
  #closeGaps(): void {
    const { length } = this.#pending;
    while (this.#head < length && this.#pending[this.#head] === undefined) this.#head += 1;
    if (this.#head < GAPS_MAX) return;
    this.#pending = this.#pending.slice(this.#head);
    this.#firstNumber += this.#head;
    this.#next -= this.#head;
    this.#head = 0;
  }

  #failed(sequenceNumbers: readonly number[], error: Error): void {
    let lowest = Number.MAX_SAFE_INTEGER;
    for (const sequenceNumber of sequenceNumbers) {
      const pending = this.#pending[sequenceNumber - this.#firstNumber];
      if (pending === undefined) {
        this.#lateCount -= 1;
        continue;
      }
      pending.status = "failed";
      this.#failedCount += 1;
      lowest = Math.min(lowest, sequenceNumber);
    }
    this.#reject((waiter) => waiter.upTo > lowest, error);
  }

  #reject(isConcerned: (waiter: Waiter) => boolean, reason: Error): void {
    const concerned = this.#waiters.filter(isConcerned);
    this.#waiters = this.#waiters.filter((waiter) => !isConcerned(waiter));
    for (const waiter of concerned) waiter.reject(reason);
  }
}
