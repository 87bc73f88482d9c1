/** A batching scheduler with an uploader whose calls a test ends one by one. @module */
import {
  type BatchingSchedulerOptions,
  BatchingStateChangeUploadScheduler,
} from "../../../src/engine/upload/batching_scheduler.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { RetryingExecutor } from "../../../src/engine/upload/retrying_executor.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import type { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import type { StateChangeUploader, UploadOptions } from "../../../src/engine/upload/uploader.ts";
import type { UploadTask, UploadTasksResult } from "../../../src/engine/upload/upload_task.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { turn } from "../_engine.ts";
import { RecordedTask, setOfBytes } from "./_sets.ts";

/** One call of {@link ManualUploader}. */
export interface UploadCall {
  readonly tasks: readonly UploadTask[];
  /** Sequence numbers of all its change sets. */
  readonly numbers: readonly number[];
  readonly signal: AbortSignal | undefined;
  /** Sequence numbers of what it is told comes next; the disk takes no time by default. */
  next(diskMs?: number): readonly number[] | undefined;
  /** Has the listener told the sequence numbers of each task that arrives, until what it answers is called. */
  onArrival(listener: (numbers: readonly number[]) => void): () => void;
  readonly result: UploadTasksResult;
  resolve(result: UploadTasksResult): void;
  reject(error: unknown): void;
}

/** An uploader whose calls a test ends one by one. */
export class ManualUploader implements StateChangeUploader {
  readonly canOverlap: boolean;
  readonly calls: UploadCall[] = [];
  readonly discarded: UploadTasksResult[] = [];
  closes = 0;
  /** Calls that have neither ended nor been given up. */
  running = 0;
  /** The most of them at any time. */
  runningMax = 0;
  #next = 0;

  /** @param options `hangs`: it pays no heed to signals. */
  constructor(
    readonly options: { readonly canOverlap?: boolean; readonly hangs?: boolean } = {},
  ) {
    this.canOverlap = options.canOverlap ?? false;
  }

  /** Sequence numbers of every call. */
  get uploads(): (readonly number[])[] {
    return this.calls.map(({ numbers }) => numbers);
  }

  upload(
    tasks: readonly UploadTask[],
    { signal, next: nextTasks, onArrival: onTask = () => () => {} }: UploadOptions = {},
  ): Promise<UploadTasksResult> {
    this.running += 1;
    this.runningMax = Math.max(this.runningMax, this.running);
    const numbers = numbersOf(tasks);
    const next = (diskMs = 0) => {
      const known = nextTasks?.(diskMs);
      return known === undefined ? undefined : numbersOf(known);
    };
    const onArrival = (listener: (numbers: readonly number[]) => void) =>
      onTask((task) => listener(numbersOf([task])));
    const result = resultOf(tasks, this.calls.length);
    const call = new Promise<UploadTasksResult>((resolve, reject) => {
      this.calls.push({ tasks, numbers, signal, next, onArrival, result, resolve, reject });
      if (this.options.hangs) return;
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const over = (): void => void (this.running -= 1);
    call.then(over, over);
    return call;
  }

  discard(result: UploadTasksResult): void {
    this.discarded.push(result);
  }

  close(): Promise<void> {
    this.closes++;
    return Promise.resolve();
  }

  /** Ends the oldest call that no `end` has ended. */
  async end(error?: unknown, refused: readonly UploadTask[] = []): Promise<void> {
    await this.endCall(this.#next++, error, refused);
  }

  /** Ends one call, by its number from 0. */
  async endCall(
    number: number,
    error?: unknown,
    refused: readonly UploadTask[] = [],
  ): Promise<void> {
    const call = this.calls[number];
    if (error !== undefined) call.reject(error);
    else {
      const successful = new Map(call.result.successful);
      for (const task of refused) successful.delete(task);
      const failed = new Map(refused.map((task) => [task, new Error("refused")]));
      call.resolve({ successful, failed });
    }
    await turn();
  }
}

function numbersOf(tasks: readonly UploadTask[]): number[] {
  return tasks.flatMap((task) => task.changeSets.map((set) => set.sequenceNumber));
}

function resultOf(tasks: readonly UploadTask[], call: number): UploadTasksResult {
  const successful = new Map(tasks.map((task) => [
    task,
    task.changeSets.map(({ sequenceNumber, byteLength }) => (
      { sequenceNumber, byteLength, key: `file ${call}`, batch: 0 }
    )),
  ]));
  return { successful, failed: new Map() };
}

/** What a {@link SchedulerBench} starts from. */
export interface SchedulerBenchOptions extends Partial<BatchingSchedulerOptions> {
  /** @default false */
  readonly canOverlap?: boolean;
  /** Whether uploads pay no heed to signals. @default false */
  readonly hangs?: boolean;
  /** @default 5 */
  readonly attemptsInFlightMax?: number;
  /** @default none */
  readonly retryPolicy?: RetryPolicy;
  /** @default the scheduler's own */
  readonly throttle?: UploadThrottle;
}

/** A batching scheduler and all that it asks for. */
export class SchedulerBench {
  readonly clock: ManualClock = new ManualClock();
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly metrics: RecordingMetrics = new RecordingMetrics();
  readonly uploader: ManualUploader;
  readonly executor: RetryingExecutor;
  readonly scheduler: BatchingStateChangeUploadScheduler;

  constructor(options: SchedulerBenchOptions = {}) {
    const { clock, logger } = this;
    const { persistDelayMs = 0, persistGatherMs, persistSizeThresholdBytes = 1000 } = options;
    const { inFlightBytesMax = 100_000, attemptsInFlightMax = 5 } = options;
    const { retryPolicy = RetryPolicy.none(), throttle } = options;
    this.uploader = new ManualUploader(options);
    this.executor = new RetryingExecutor({ clock, logger }, { attemptsInFlightMax });
    const { executor } = this;
    const metrics = new UploadMetrics(this.metrics, "orders");
    this.scheduler = new BatchingStateChangeUploadScheduler(
      this.uploader,
      { persistDelayMs, persistGatherMs, persistSizeThresholdBytes, inFlightBytesMax },
      { executor, retryPolicy, clock, logger, metrics, throttle },
    );
  }

  /** Hands over a task of one change set, whose size with its framing is `size`. */
  upload(sequenceNumber: number, size = 100, options: { isAdmitted?: boolean } = {}): RecordedTask {
    const recorded = new RecordedTask([setOfBytes(sequenceNumber, size)], options);
    this.scheduler.upload(recorded.task);
    return recorded;
  }

  /** Hands over a task whose owner does something when it is told. */
  uploadWith(sequenceNumber: number, onEvent: () => void): RecordedTask {
    const recorded = new RecordedTask([setOfBytes(sequenceNumber, 100)], { onEvent });
    this.scheduler.upload(recorded.task);
    return recorded;
  }
}
