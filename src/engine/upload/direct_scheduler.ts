/**
 * Uploads at once. While an upload is running, tasks gather for the next one (group commit), since a change file
 * takes one batch at a time.
 * Owns: when to upload, and that every task is settled. Does not own: how to write, retries.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { StateChangeUploadScheduler } from "./scheduler.ts";
import type { StateChangeUploader } from "./uploader.ts";
import type { UploadTask } from "./upload_task.ts";

class DirectStateChangeUploadScheduler implements StateChangeUploadScheduler {
  readonly #uploader: StateChangeUploader;
  #waiting: UploadTask[] = [];
  #running: readonly UploadTask[] = [];
  #loop: Promise<void> | undefined;
  #closed: Error | undefined;

  constructor(uploader: StateChangeUploader) {
    this.#uploader = uploader;
  }

  get isUploading(): boolean {
    return this.#loop !== undefined;
  }

  upload(task: UploadTask): void {
    if (this.#closed !== undefined) {
      task.fail(this.#closed);
      return;
    }
    if (task.changeSets.length === 0) {
      task.complete([]);
      return;
    }
    this.#waiting.push(task);
    this.#loop ??= this.#run();
  }

  async whenIdle(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  async close(options: { mode: "drain" } | { mode: "abort"; reason: Error }): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = options.mode === "abort"
        ? options.reason
        : new TidemarkError("closed", "Cannot upload: the job is closed; open it again");
    }
    if (options.mode === "abort") {
      for (const task of [...this.#running, ...this.#waiting.splice(0)]) task.fail(options.reason);
      return;
    }
    await this.whenIdle();
    await this.#uploader.close();
  }

  async #run(): Promise<void> {
    // Lets every persist of this turn into the first batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      this.#running = this.#waiting.splice(0);
      await this.#uploadRunning();
      this.#running = [];
    }
    this.#loop = undefined;
  }

  async #uploadRunning(): Promise<void> {
    try {
      const result = await this.#uploader.upload(this.#running);
      for (const [task, results] of result.successful) task.complete(results);
      for (const [task, error] of result.failed) task.fail(error);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      for (const task of this.#running) task.fail(reason);
    }
  }
}

/**
 * A scheduler that uploads at once, with no delay and no retries. Seed: `directScheduler`.
 *
 * @param uploader Writes the batches; the scheduler closes it.
 */
export function directScheduler(uploader: StateChangeUploader): StateChangeUploadScheduler {
  return new DirectStateChangeUploadScheduler(uploader);
}
