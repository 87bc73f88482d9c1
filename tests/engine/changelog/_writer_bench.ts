/** A writer whose uploads a test completes or fails by hand. @module */
import { ChangelogWriter } from "../../../src/engine/changelog/writer.ts";
import type { WriterContext } from "../../../src/engine/changelog/writer_context.ts";
import { scanChanges } from "../../../src/engine/format/change_scan.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import type { StateChangeUploadScheduler } from "../../../src/engine/upload/scheduler.ts";
import type { UploadTask } from "../../../src/engine/upload/upload_task.ts";
import { TaskChangelogRegistry } from "../../../src/engine/upload/task_changelog_registry.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { bytesOf, textOf } from "../_engine.ts";

/** Texts of a change set. */
export function textsOf(set: ChangeSet): string[] {
  return set.chunks.flatMap((chunk) => {
    const scan = scanChanges(chunk);
    return Array.from({ length: scan.count }, (_, i) => textOf(scan.data(i)));
  });
}

/** A scheduler that keeps its tasks until it is told what became of them. */
export class ManualScheduler implements StateChangeUploadScheduler {
  readonly tasks: UploadTask[] = [];
  readonly availability = { isAvailable: () => true, whenAvailable: () => Promise.resolve() };
  isUploading = false;

  upload(task: UploadTask): void {
    this.tasks.push(task);
  }

  whenIdle(): Promise<void> {
    return Promise.resolve();
  }

  flush(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Sequence numbers of every task. */
  get numbers(): number[][] {
    return this.tasks.map((task) => task.changeSets.map((set) => set.sequenceNumber));
  }

  complete(task: number): void {
    const { changeSets } = this.tasks[task];
    this.tasks[task].complete(changeSets.map(({ sequenceNumber, byteLength }) => (
      { sequenceNumber, byteLength, key: "file", batch: 0 }
    )));
  }

  fail(task: number, error = new Error("disk")): Error {
    this.tasks[task].fail(error);
    return error;
  }
}

/** What a bench starts from. */
export interface WriterBenchOptions {
  /** @default 1000 */
  softBytes?: number;
  /** @default 1100 */
  hardBytes?: number;
  /** @default 100 */
  preemptivePersistBytes?: number;
  /** @default {0, 0} */
  start?: { sequenceNumber: number; nextOffset: number };
  /** @default 1 */
  run?: number;
}

/** A writer, and all that it asks for. */
export class WriterBench implements WriterContext {
  readonly epoch = 4;
  readonly scheduler: ManualScheduler = new ManualScheduler();
  readonly throttle: UploadThrottle;
  readonly discarded: string[] = [];
  readonly registry: TaskChangelogRegistry = new TaskChangelogRegistry({
    discard: (keys) => void this.discarded.push(...keys),
  });
  readonly counted: RecordingMetrics = new RecordingMetrics();
  readonly metrics: UploadMetrics = new UploadMetrics(this.counted, "orders");
  readonly changeBytesMax = 300;
  readonly reusesMemory = true;
  readonly preemptivePersistBytes: number;
  readonly writer: ChangelogWriter;
  /** Encoded changes that are stored, from offset 0 on, one piece per change. */
  stored: Uint8Array[] = [];
  usableError: Error | undefined;
  ownerError: Error | undefined;
  ownerChecks = 0;
  /** Whether copies that were made are still there. */
  hasLocalCopies = true;
  reliefs = 0;
  readonly runChecks: { run: number | undefined; required: boolean }[] = [];

  constructor(options: WriterBenchOptions = {}) {
    const { softBytes = 1000, hardBytes = 1100, preemptivePersistBytes = 100 } = options;
    const { start = { sequenceNumber: 0, nextOffset: 0 } } = options;
    this.throttle = new UploadThrottle(softBytes, hardBytes);
    this.preemptivePersistBytes = preemptivePersistBytes;
    this.writer = new ChangelogWriter(
      { writer: "totals", keyGroups: [0, 127], ...start },
      this,
    );
  }

  checkUsable(): void {
    if (this.usableError !== undefined) throw this.usableError;
  }

  checkOwner(): void {
    this.ownerChecks++;
    if (this.ownerError !== undefined) throw this.ownerError;
  }

  checkRun(run: number | undefined, { required }: { readonly required: boolean }): void {
    this.runChecks.push({ run, required });
  }

  hasLocalCopy(): boolean {
    return this.hasLocalCopies;
  }

  relieve(): void {
    this.reliefs++;
  }

  async *readStored(_writer: string, from: number, to: number): AsyncGenerator<Uint8Array> {
    await Promise.resolve();
    yield* this.stored.slice(from, to);
  }

  append(...texts: string[]): void {
    for (const text of texts) this.writer.append(0, bytesOf(text));
  }
}
