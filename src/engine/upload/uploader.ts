import type { UploadTask, UploadTasksResult } from "./upload_task.ts";

/** Options of {@link StateChangeUploader.upload}. */
export interface UploadOptions {
  /** Gives the upload up. @default never */
  readonly signal?: AbortSignal;
}

/** Turns tasks into durable bytes. Does not own when, nor retries. Seed: `StateChangeUploader`. */
export interface StateChangeUploader {
  /**
   * Whether one upload may begin while another runs. Not on an append file: a timed-out upload is given up there, and
   * its late success is ignored.
   */
  readonly canOverlap: boolean;
  /**
   * Writes the tasks' change sets as one upload.
   *
   * @returns Which tasks are durable, and which were refused for their own data.
   * @throws When the upload failed; none of the tasks is told, since they may be tried again.
   */
  upload(tasks: readonly UploadTask[], options?: UploadOptions): Promise<UploadTasksResult>;
  /** Takes back a result that another one has made superfluous. @default nothing is done */
  discard?(result: UploadTasksResult): void;
  /** Lets go of what is open. Idempotent. */
  close(): Promise<void>;
}
