import type { UploadTask, UploadTasksResult } from "./upload_task.ts";

/**
 * Options of {@link StateChangeUploader.upload}.
 *
 * @example
 * ```ts
 * import type { StateChangeUploader, UploadOptions, UploadTask } from "@tidemark/tidemark";
 *
 * async function uploadFor(signal: AbortSignal, uploader: StateChangeUploader, tasks: UploadTask[]) {
 *   const options: UploadOptions = { signal };
 *   return await uploader.upload(tasks, options);
 * }
 * console.assert(uploadFor.length === 3);
 * ```
 */
export interface UploadOptions {
  /** Gives the upload up. @default never */
  readonly signal?: AbortSignal;
  /**
   * Answers the tasks that will be uploaded next if nothing fails, or undefined while more may join them. An uploader
   * may make them ready while it waits for the disk, for `diskMs` as it expects, but writes nothing of them yet.
   * @default it is not known
   */
  readonly next?: (diskMs: number) => readonly UploadTask[] | undefined;
  /**
   * Has the listener told of each task that joins those which wait, until what this answers is called: `next` may know
   * more then. @default nobody is told
   */
  readonly onArrival?: (listener: (task: UploadTask) => void) => () => void;
}

/**
 * Turns tasks into durable bytes. Does not own when, nor retries. Seed: `StateChangeUploader`.
 *
 * @example
 * ```ts
 * import { type StateChangeUploader, UploadTask } from "@tidemark/tidemark";
 *
 * const dropping: StateChangeUploader = {
 *   canOverlap: true,
 *   upload: (tasks) =>
 *     Promise.resolve({ successful: new Map(tasks.map((task) => [task, []])), failed: new Map() }),
 *   close: () => Promise.resolve(),
 * };
 * const task = new UploadTask([], () => {}, () => {});
 * const { successful } = await dropping.upload([task]);
 * console.assert(successful.has(task));
 * ```
 */
export interface StateChangeUploader {
  /**
   * Whether one upload may begin while another runs. Not on an append file: a timed-out upload is given up there, and
   * its late success is ignored.
   */
  readonly canOverlap: boolean;
  /**
   * Writes the tasks' change sets as one upload. If uploads can't overlap, the memory of change sets that are durable is
   * used again: what an upload reads of them after it was given up, or after another one made them durable, must not
   * be written.
   *
   * @param tasks In order of arrival.
   * @param options What gives the upload up. @default {}
   * @returns Which tasks are durable, and which were refused for their own data.
   * @throws When the upload failed; none of the tasks is told, since they may be tried again.
   */
  upload(tasks: readonly UploadTask[], options?: UploadOptions): Promise<UploadTasksResult>;
  /**
   * Takes back a result that another one has made superfluous. Left out: nothing is done.
   *
   * @param result What an upload that came too late answered.
   */
  discard?(result: UploadTasksResult): void;
  /** Lets go of what is open. Idempotent. */
  close(): Promise<void>;
}
