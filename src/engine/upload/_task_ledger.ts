/**
 * The tasks that a scheduler has taken and not settled.
 * Owns: settling each exactly once, and letting go of what the throttle counts for it before its owner is told.
 * Does not own: when.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Logger } from "../port/logger.ts";
import type { UploadTask, UploadTasksResult } from "./upload_task.ts";
import type { UploadThrottle } from "./upload_throttle.ts";

/** A task within a scheduler. */
export interface SchedulerTask {
  readonly task: UploadTask;
  /** Bytes that the throttle counts for it, and that the scheduler lets go. */
  heldBytes: number;
  /** Whether it is not settled. */
  isOpen: boolean;
  /** Its neighbours in the ledger, as long as it is open. */
  before: SchedulerTask | undefined;
  after: SchedulerTask | undefined;
}

/** Keeps account of tasks. */
export class TaskLedger {
  readonly #throttle: UploadThrottle;
  readonly #logger: Logger;
  /**
   * The open tasks are a list. V8 keeps what a set has let go of alive through tables that the set has outgrown: with a
   * set, 17 % of all garbage came into the old generation instead of 4 %, and 64 acknowledgements cost 270 us, not 180.
   */
  #first: SchedulerTask | undefined;
  #last: SchedulerTask | undefined;
  #waiters: (() => void)[] = [];

  constructor(throttle: UploadThrottle, logger: Logger) {
    this.#throttle = throttle;
    this.#logger = logger;
  }

  /** Takes a task in. */
  add(task: UploadTask): SchedulerTask {
    const before = this.#last;
    const taken = { task, heldBytes: 0, isOpen: true, before, after: undefined };
    if (before === undefined) this.#first = taken;
    else before.after = taken;
    this.#last = taken;
    return taken;
  }

  /** Resolves when every task that was taken is settled. */
  whenEmpty(): Promise<void> {
    if (this.#first === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Fails a task that was not taken. */
  refuse(task: UploadTask, error: Error): void {
    this.settle(this.add(task), () => task.fail(error));
  }

  /** Fails a task. */
  fail(taken: SchedulerTask, error: Error): void {
    this.settle(taken, (task) => task.fail(error));
  }

  /** Fails every task. */
  failAll(error: Error): void {
    const open: SchedulerTask[] = [];
    for (let taken = this.#first; taken !== undefined; taken = taken.after) open.push(taken);
    for (const taken of open) this.fail(taken, error);
  }

  /** Completes or fails a task, whatever its upload says of it. */
  settleBy(taken: SchedulerTask, { successful, failed }: UploadTasksResult): void {
    if (!this.#takeOut(taken)) return;
    const { task } = taken;
    const results = successful.get(task);
    try {
      if (results !== undefined) task.complete(results);
      else task.fail(failed.get(task) ?? unanswered());
    } catch (error) {
      this.#ownerHasThrown(error);
    }
    this.#tellWaiters();
  }

  /** Settles a task once: what comes later is ignored. */
  settle(taken: SchedulerTask, tell: (task: UploadTask) => void): void {
    if (!this.#takeOut(taken)) return;
    try {
      tell(taken.task);
    } catch (error) {
      this.#ownerHasThrown(error);
    }
    this.#tellWaiters();
  }

  /** Lets go of what is counted for a task; answers whether it was still open. */
  #takeOut(taken: SchedulerTask): boolean {
    const { heldBytes } = taken;
    taken.heldBytes = 0;
    // Capacity goes before the owner is told, so that whoever is told can go on.
    if (heldBytes > 0) this.#throttle.uploadCompleted(heldBytes);
    if (!taken.isOpen) return false;
    taken.isOpen = false;
    const { before, after } = taken;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    taken.before = undefined;
    taken.after = undefined;
    return true;
  }

  /** One owner's fault must not keep the others from hearing. */
  #ownerHasThrown(error: unknown): void {
    this.#logger.log("error", "An owner has thrown when it was told of its upload", { error });
  }

  #tellWaiters(): void {
    if (this.#first !== undefined || this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}

function unanswered(): TidemarkError {
  return new TidemarkError("internal", "The uploader says nothing of a task: report this", {
    outcome: "unknown",
  });
}
