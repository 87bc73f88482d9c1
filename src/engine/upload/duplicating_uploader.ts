/**
 * Uploads to the change files, of which a copy is made near by. Seed: `DuplicatingStateChangeFsUploader`.
 * Owns: saying which results have a local copy. Does not own: writing, which the main uploader's log does to both.
 * @module
 */
import type { StateChangeFsUploader } from "./fs_uploader.ts";
import type { LocalMirror } from "./local_mirror.ts";
import type { UploadResult, UploadTask, UploadTasksResult } from "./upload_task.ts";
import type { StateChangeUploader, UploadOptions } from "./uploader.ts";

/** An uploader whose results say where there is a local copy; what becomes of the copies changes nothing else. */
export class DuplicatingStateChangeFsUploader implements StateChangeUploader {
  readonly canOverlap: boolean;
  readonly #main: StateChangeFsUploader;
  readonly #local: LocalMirror;

  /**
   * @param main Writes to a log that the mirror follows.
   * @param local Makes the copies.
   */
  constructor(main: StateChangeFsUploader, local: LocalMirror) {
    this.#main = main;
    this.#local = local;
    this.canOverlap = main.canOverlap;
  }

  async upload(
    tasks: readonly UploadTask[],
    options: UploadOptions = {},
  ): Promise<UploadTasksResult> {
    const result = await this.#main.upload(tasks, options);
    const held = new Set<string>();
    for (const key of new Set([...result.successful.values()].flat().map(({ key }) => key))) {
      if (await this.#local.holds(key)) held.add(key);
    }
    if (options.signal?.aborted) {
      // Nobody will hear of it.
      this.discard(result);
      throw options.signal.reason;
    }
    const successful = new Map<UploadTask, readonly UploadResult[]>();
    for (const [task, results] of result.successful) {
      successful.set(task, results.map((one) => held.has(one.key) ? withLocal(one) : one));
    }
    return { successful, failed: result.failed };
  }

  discard(result: UploadTasksResult): void {
    this.#main.discard(result);
  }

  close(): Promise<void> {
    return this.#main.close();
  }
}

function withLocal(result: UploadResult): UploadResult {
  return { ...result, localKey: result.key };
}
