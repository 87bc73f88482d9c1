/**
 * Uploads to the change files, of which a copy is made near by. Seed: `DuplicatingStateChangeFsUploader`.
 * Owns: saying which results have a local copy. Does not own: writing, which the main uploader's log does to both.
 * @module
 */
import type { UploadResult, UploadTask, UploadTasksResult } from "./upload_task.ts";
import type { StateChangeUploader, UploadOptions } from "./uploader.ts";

/**
 * Knows of which files there is a local copy.
 *
 * @example
 * ```ts
 * import type { LocalCopyKeeper } from "@tidemark/tidemark";
 *
 * const copied = new Set(["file"]);
 * const local: LocalCopyKeeper = { holds: (key) => Promise.resolve(copied.has(key)) };
 * console.assert(await local.holds("file"));
 * ```
 */
export interface LocalCopyKeeper {
  /**
   * Whether the copy has all that was written to its file so far. Must not reject, nor take long: an upload waits.
   *
   * @param key Key of the file, and of its copy.
   */
  holds(key: string): Promise<boolean>;
}

/**
 * An uploader whose results say where there is a local copy; what becomes of the copies changes nothing else: a local
 * failure never fails an upload. {@link uploaderFromConfig} makes one that writes both.
 * Seed: `DuplicatingStateChangeFsUploader`.
 *
 * @example
 * ```ts
 * import { DuplicatingStateChangeFsUploader, UploadTask } from "@tidemark/tidemark";
 *
 * const uploader = new DuplicatingStateChangeFsUploader({
 *   canOverlap: false,
 *   upload: ([task]) => {
 *     const result = { sequenceNumber: 0, key: "file", batch: 0, byteLength: 4 };
 *     return Promise.resolve({ successful: new Map([[task, [result]]]), failed: new Map() });
 *   },
 *   close: () => Promise.resolve(),
 * }, { holds: () => Promise.resolve(true) });
 * const task = new UploadTask([], () => {}, () => {});
 * const { successful } = await uploader.upload([task]);
 * console.assert(successful.get(task)?.[0].localKey === "file");
 * ```
 */
export class DuplicatingStateChangeFsUploader implements StateChangeUploader {
  /** Whether the main uploader can. */
  readonly canOverlap: boolean;
  readonly #main: StateChangeUploader;
  readonly #local: LocalCopyKeeper;

  /**
   * Makes an uploader.
   *
   * @param main Writes to a log of whose files copies are made.
   * @param local Knows the copies.
   */
  constructor(main: StateChangeUploader, local: LocalCopyKeeper) {
    this.#main = main;
    this.#local = local;
    this.canOverlap = main.canOverlap;
  }

  /**
   * Uploads by the main uploader, then looks for the copies.
   *
   * @param tasks In order of arrival.
   * @param options What gives the upload up. @default {}
   * @returns What the main uploader answers; where there is a copy, with its key.
   * @throws What the main uploader throws.
   */
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

  /**
   * Has the main uploader take a result back.
   *
   * @param result What an upload answered that came too late.
   */
  discard(result: UploadTasksResult): void {
    this.#main.discard?.(result);
  }

  /** Closes the main uploader. */
  close(): Promise<void> {
    return this.#main.close();
  }
}

function withLocal(result: UploadResult): UploadResult {
  return { ...result, localKey: result.key };
}
