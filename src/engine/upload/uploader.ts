import type { UploadTask, UploadTasksResult } from "./upload_task.ts";

/** Turns tasks into durable bytes. Does not own when, nor retries. Seed: `StateChangeUploader`. */
export interface StateChangeUploader {
  /**
   * Writes the tasks' change sets. Answers when all are durable; throws when none is known to be.
   * One call at a time.
   */
  upload(tasks: readonly UploadTask[]): Promise<UploadTasksResult>;
  /** Lets go of what is open. Idempotent. */
  close(): Promise<void>;
}
