/**
 * Writes the change sets of many tasks to the log, as few batches as can be. Seed: `StateChangeFsUploader`.
 * Owns: what goes into a batch, and that nothing is told to be durable before it is, and by its owner.
 * Does not own: when to upload, retries, files.
 * @module
 */
import type { ChangeSet } from "../format/change_set.ts";
import { MIB } from "../limits.ts";
import type { ChangeFileLog } from "./change_file_log.ts";
import type { StateChangeUploader } from "./uploader.ts";
import type { UploadResult, UploadTask, UploadTasksResult } from "./upload_task.ts";

/** Body at which a batch ends: a recovery may have to hold one in memory. */
const BATCH_BODY_BYTES_MAX = 64 * MIB;
/** Change sets at which a batch ends, so that its index stays small. */
const BATCH_SETS_MAX = 50_000;

/** Splits change sets into batches, in order. */
export function splitIntoBatches(sets: readonly ChangeSet[]): ChangeSet[][] {
  const batches: ChangeSet[][] = [];
  let batch: ChangeSet[] = [];
  let bytes = 0;
  for (const set of sets) {
    const isFull = bytes + set.byteLength > BATCH_BODY_BYTES_MAX || batch.length >= BATCH_SETS_MAX;
    if (isFull && batch.length > 0) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(set);
    bytes += set.byteLength;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Uploads to the change files of a log. */
export class StateChangeFsUploader implements StateChangeUploader {
  readonly #log: ChangeFileLog;
  readonly #checkOwner: () => void;

  /**
   * @param log Where the batches go.
   * @param checkOwner Throws when the job has another owner; asked after a batch is durable, before its tasks complete.
   */
  constructor(log: ChangeFileLog, checkOwner: () => void) {
    this.#log = log;
    this.#checkOwner = checkOwner;
  }

  async upload(tasks: readonly UploadTask[]): Promise<UploadTasksResult> {
    const results = new Map<ChangeSet, UploadResult>();
    for (const sets of splitIntoBatches(tasks.flatMap((task) => task.changeSets))) {
      const place = await this.#log.appendBatch(sets);
      for (const set of sets) {
        const { sequenceNumber, byteLength } = set;
        results.set(set, { ...place, sequenceNumber, byteLength });
      }
    }
    this.#checkOwner();
    const successful = new Map(
      tasks.map((task) => [task, task.changeSets.map((set) => results.get(set)!)]),
    );
    return { successful, failed: new Map() };
  }

  async close(): Promise<void> {
    await this.#log.seal();
  }
}
