/**
 * What one persist hands to the scheduler, and what comes back. Seed: `UploadTask`, `UploadTasksResult`.
 * @module
 */
import { type ChangeSet, setHeaderBytes } from "../format/change_set.ts";

/** Where a change set became durable. */
export interface UploadResult {
  /** Of the change set. */
  readonly sequenceNumber: number;
  /** Key of the change file. */
  readonly key: string;
  /** Number of the batch in the file that holds the set. */
  readonly batch: number;
  /** Bytes of the set's encoded changes. */
  readonly byteLength: number;
}

/** What became of several tasks. */
export interface UploadTasksResult {
  /** Tasks that are durable, with a result for each of their change sets. */
  readonly successful: ReadonlyMap<UploadTask, readonly UploadResult[]>;
  /** Tasks refused for their own data, while the rest was written. */
  readonly failed: ReadonlyMap<UploadTask, Error>;
}

/** Options of an {@link UploadTask}. */
export interface UploadTaskOptions {
  /** Whether the throttle counts its bytes already, since they were appended; its maker lets them go. @default false */
  readonly isAdmitted?: boolean;
}

/**
 * Change sets on their way to the store. Is completed or failed once; what comes later is ignored.
 * Seed: `UploadTask`.
 */
export class UploadTask {
  /** What is to be uploaded, in order. */
  readonly changeSets: readonly ChangeSet[];
  /** Bytes of all change sets, framing included. */
  readonly size: number;
  /** Whether the throttle counts its bytes already. */
  readonly isAdmitted: boolean;
  readonly #onSuccess: (results: readonly UploadResult[]) => void;
  readonly #onFailure: (sequenceNumbers: readonly number[], error: Error) => void;
  #isSettled = false;

  /**
   * Makes a task that nobody has been told of.
   *
   * @param changeSets What is to be uploaded, in order.
   * @param onSuccess Told where each change set became durable.
   * @param onFailure Told every sequence number, and why they are not known to be durable.
   */
  constructor(
    changeSets: Iterable<ChangeSet>,
    onSuccess: (results: readonly UploadResult[]) => void,
    onFailure: (sequenceNumbers: readonly number[], error: Error) => void,
    options: UploadTaskOptions = {},
  ) {
    this.changeSets = [...changeSets];
    this.size = this.changeSets.reduce((sum, set) => sum + setHeaderBytes(set) + set.byteLength, 0);
    this.isAdmitted = options.isAdmitted ?? false;
    this.#onSuccess = onSuccess;
    this.#onFailure = onFailure;
  }

  /** Whether its owner has been told. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Tells the owner that every change set is durable. */
  complete(results: readonly UploadResult[]): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onSuccess(results);
  }

  /** Tells the owner that the upload failed. */
  fail(error: Error): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onFailure(this.changeSets.map((set) => set.sequenceNumber), error);
  }
}
