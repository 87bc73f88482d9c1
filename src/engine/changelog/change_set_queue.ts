/**
 * The rolled-over change sets of a writer on their way to being durable.
 * Owns: which of them are durable, failed ones and their retry, who waits for them.
 * Does not own: offsets, what is in them, when a batch is written.
 * @module
 */
import type { ChangeSet } from "../format/change_set.ts";
import type { StateChangeUploadScheduler } from "../upload/scheduler.ts";
import { type UploadResult, UploadTask } from "../upload/upload_task.ts";

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

/** Change sets that are not known to be durable, in order. */
export class ChangeSetQueue {
  readonly #owner: ChangeSetQueueOwner;
  readonly #pending = new Map<number, PendingSet>();
  #waiters: Waiter[] = [];

  constructor(owner: ChangeSetQueueOwner) {
    this.#owner = owner;
  }

  /** The first set that is not known to be durable. */
  get first(): ChangeSet | undefined {
    for (const { set } of this.#pending.values()) return set;
    return undefined;
  }

  /** A set that is not known to be durable. */
  find(sequenceNumber: number): ChangeSet | undefined {
    return this.#pending.get(sequenceNumber)?.set;
  }

  /** Takes a set in, after those before it. */
  add(set: ChangeSet): void {
    this.#pending.set(set.sequenceNumber, { set, status: "waiting" });
  }

  /** Hands every set that waits or has failed to the scheduler, as one task; never one that is being uploaded. */
  upload(): void {
    const sets: ChangeSet[] = [];
    for (const pending of this.#pending.values()) {
      if (pending.status === "uploading") continue;
      pending.status = "uploading";
      sets.push(pending.set);
    }
    if (sets.length === 0) return;
    const task = new UploadTask(
      sets,
      (results) => this.#uploaded(results),
      (sequenceNumbers, error) => this.#failed(sequenceNumbers, error),
      { isAdmitted: true },
    );
    this.#owner.scheduler.upload(task);
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
    for (const [number, { set }] of this.#pending) {
      if (number < sequenceNumber) continue;
      this.#pending.delete(number);
      this.#owner.onDropped(set);
    }
    this.#reject((waiter) => waiter.upTo > sequenceNumber, reason);
  }

  /** Tells everybody who waits that there is nothing more to wait for. */
  end(reason: Error): void {
    this.#reject(() => true, reason);
  }

  #uploaded(results: readonly UploadResult[]): void {
    for (const result of results) {
      const pending = this.#pending.get(result.sequenceNumber);
      if (pending === undefined) {
        this.#owner.onLateLanding(result);
        continue;
      }
      this.#pending.delete(result.sequenceNumber);
      this.#owner.onDurable(pending.set, result);
    }
    const durable = this.first?.sequenceNumber ?? Number.MAX_SAFE_INTEGER;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (waiter.upTo <= durable) waiter.resolve();
      else this.#waiters.push(waiter);
    }
  }

  #failed(sequenceNumbers: readonly number[], error: Error): void {
    let lowest = Number.MAX_SAFE_INTEGER;
    for (const sequenceNumber of sequenceNumbers) {
      const pending = this.#pending.get(sequenceNumber);
      if (pending === undefined) continue;
      pending.status = "failed";
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
