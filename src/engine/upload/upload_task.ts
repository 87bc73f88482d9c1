/**
 * What one persist hands to the scheduler, and what comes back. Seed: `UploadTask`, `UploadTasksResult`.
 * @module
 */
import type { ChangeSet } from "../format/change_set.ts";

/** Where a change set became durable. */
export interface UploadResult {
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
  readonly successful: ReadonlyMap<UploadTask, readonly UploadResult[]>;
  /** Tasks refused for their own data, while the rest was written. */
  readonly failed: ReadonlyMap<UploadTask, Error>;
}

/** Change sets on their way to the store. Is completed or failed once; what comes later is ignored. */
export class UploadTask {
  readonly changeSets: readonly ChangeSet[];
  readonly #onSuccess: (results: readonly UploadResult[]) => void;
  readonly #onFailure: (sequenceNumbers: readonly number[], error: Error) => void;
  #settled = false;

  constructor(
    changeSets: Iterable<ChangeSet>,
    onSuccess: (results: readonly UploadResult[]) => void,
    onFailure: (sequenceNumbers: readonly number[], error: Error) => void,
  ) {
    this.changeSets = [...changeSets];
    this.#onSuccess = onSuccess;
    this.#onFailure = onFailure;
  }

  /** Tells the owner that every change set is durable. */
  complete(results: readonly UploadResult[]): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#onSuccess(results);
  }

  /** Tells the owner that the upload failed. */
  fail(error: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#onFailure(this.changeSets.map((set) => set.sequenceNumber), error);
  }
}
