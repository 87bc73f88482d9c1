/**
 * What one persist hands to the scheduler, and what comes back. Seed: `UploadTask`, `UploadTasksResult`.
 * @module
 */
import { type ChangeSet, setHeaderBytes } from "../format/change_set.ts";

/**
 * Where a change set became durable. Seed: `UploadResult`.
 *
 * @example
 * ```ts
 * import type { UploadResult } from "@tidemark/tidemark";
 *
 * const result: UploadResult = { sequenceNumber: 4, key: "file", batch: 0, byteLength: 512 };
 * console.assert(result.byteLength === 512);
 * ```
 */
export interface UploadResult {
  /** Of the change set. */
  readonly sequenceNumber: number;
  /** Key of the change file. */
  readonly key: string;
  /** Number of the batch in the file that holds the set. */
  readonly batch: number;
  /** Bytes of the set's encoded changes. */
  readonly byteLength: number;
  /** Key of the local copy. @default there is none */
  readonly localKey?: string;
}

/**
 * What became of several tasks. Seed: `UploadTasksResult`.
 *
 * @example
 * ```ts
 * import { UploadTask, type UploadTasksResult } from "@tidemark/tidemark";
 *
 * const task = new UploadTask([], () => console.log("uploaded"), (_, error) => console.log(error));
 * const result: UploadTasksResult = { successful: new Map([[task, []]]), failed: new Map() };
 * for (const [task, results] of result.successful) task.complete(results);
 * for (const [task, error] of result.failed) task.fail(error);
 * console.assert(task.isSettled);
 * ```
 */
export interface UploadTasksResult {
  /** Tasks that are durable, with a result for each of their change sets. */
  readonly successful: ReadonlyMap<UploadTask, readonly UploadResult[]>;
  /** Tasks refused for their own data, while the rest was written. */
  readonly failed: ReadonlyMap<UploadTask, Error>;
}

/**
 * Options of an {@link UploadTask}.
 *
 * @example
 * ```ts
 * import { UploadTask, type UploadTaskOptions } from "@tidemark/tidemark";
 *
 * const options: UploadTaskOptions = { isAdmitted: true };
 * console.assert(new UploadTask([], () => {}, () => {}, options).isAdmitted);
 * ```
 */
export interface UploadTaskOptions {
  /** Whether the throttle counts its bytes already, since they were appended; its maker lets them go. @default false */
  readonly isAdmitted?: boolean;
}

/**
 * Change sets on their way to the store. Is completed or failed once; what comes later is ignored.
 * Seed: `UploadTask`.
 *
 * @example
 * ```ts
 * import { UploadTask } from "@tidemark/tidemark";
 *
 * const told: string[] = [];
 * const task = new UploadTask(
 *   [],
 *   (results) => told.push(`${results.length} uploaded`),
 *   (sequenceNumbers, error) => told.push(`${sequenceNumbers} failed: ${error.message}`),
 * );
 * task.complete([]);
 * task.fail(new Error("too late"));
 * console.assert(task.isSettled && told.join() === "0 uploaded");
 * ```
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
   * @param options Whether its bytes are counted already. @default {}
   */
  constructor(
    changeSets: Iterable<ChangeSet>,
    onSuccess: (results: readonly UploadResult[]) => void,
    onFailure: (sequenceNumbers: readonly number[], error: Error) => void,
    options: UploadTaskOptions = {},
  ) {
    this.changeSets = [...changeSets];
    let size = 0;
    for (const set of this.changeSets) size += setHeaderBytes(set) + set.byteLength;
    this.size = size;
    this.isAdmitted = options.isAdmitted ?? false;
    this.#onSuccess = onSuccess;
    this.#onFailure = onFailure;
  }

  /** Whether its owner has been told. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /**
   * Tells the owner that every change set is durable.
   *
   * @param results Where each lies, in order.
   */
  complete(results: readonly UploadResult[]): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onSuccess(results);
  }

  /**
   * Tells the owner that the upload failed.
   *
   * @param error Why.
   */
  fail(error: Error): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#onFailure(this.changeSets.map((set) => set.sequenceNumber), error);
  }
}
