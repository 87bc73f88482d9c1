import type { UploadTask } from "./upload_task.ts";

/** When to upload. Seed: `StateChangeUploadScheduler`. */
export interface StateChangeUploadScheduler {
  /** Takes a task; it will be completed or failed exactly once. */
  upload(task: UploadTask): void;
  /** Whether an upload is running or about to. */
  readonly isUploading: boolean;
  /** Resolves when no task is waiting or running. */
  whenIdle(): Promise<void>;
  /**
   * Ends the scheduler. `drain` uploads what is waiting first; `abort` fails it with `reason`, and what is running
   * too, without waiting for it. Idempotent.
   */
  close(options: { mode: "drain" } | { mode: "abort"; reason: Error }): Promise<void>;
}
