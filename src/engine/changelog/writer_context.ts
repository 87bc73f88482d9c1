import type { StateChangeUploadScheduler } from "../upload/scheduler.ts";
import type { TaskChangelogRegistry } from "../upload/task_changelog_registry.ts";
import type { UploadMetrics } from "../upload/upload_metrics.ts";
import type { UploadThrottle } from "../upload/upload_throttle.ts";

/** What a writer asks of the run it belongs to. */
export interface WriterContext {
  readonly epoch: number;
  readonly scheduler: StateChangeUploadScheduler;
  readonly throttle: UploadThrottle;
  readonly registry: TaskChangelogRegistry;
  readonly metrics: UploadMetrics;
  readonly changeBytesMax: number;
  readonly preemptivePersistBytes: number;
  /** Whether a durable change set is read by nobody, so that its memory can be used again. */
  readonly reusesMemory: boolean;
  /** Throws when the run is over: closed, or fenced. */
  checkUsable(): void;
  /** Throws when the job has another owner. */
  checkOwner(): void;
  /** Throws when the pipeline's run is another, or is not named though it is required. */
  checkRun(run: number | undefined, options: { readonly required: boolean }): void;
  /** Whether a change file still has its local copy. */
  hasLocalCopy(key: string): boolean;
  /** Begins to upload what every writer holds, since memory is used up. */
  relieve(): void;
  /** Reads encoded changes of a writer back, from one offset to another. */
  readStored(writer: string, from: number, to: number): AsyncIterable<Uint8Array>;
}
