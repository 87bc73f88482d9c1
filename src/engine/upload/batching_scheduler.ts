/**
 * Gathers the tasks of all writers into batches and has each uploaded, with retries.
 * Seed: `BatchingStateChangeUploadScheduler`.
 * Owns: when to upload, how many uploads run, that every task is settled, once. It alone fails the tasks of a batch.
 * Does not own: how to write, whether to try again, how much may be held in memory.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Clock, Timer } from "../port/clock.ts";
import type { Logger } from "../port/logger.ts";
import { BatchUploads, type UpcomingTasks } from "./_batch_uploads.ts";
import { type SchedulerTask, TaskLedger } from "./_task_ledger.ts";
import { toUploadError } from "./_upload_error.ts";
import { UploadQueue } from "./_upload_queue.ts";
import type { RetryPolicy } from "./retry_policy.ts";
import type { RetryingExecutor } from "./retrying_executor.ts";
import type { SchedulerCloseOptions, StateChangeUploadScheduler } from "./scheduler.ts";
import type { UploadMetrics } from "./upload_metrics.ts";
import type { UploadTask, UploadTasksResult } from "./upload_task.ts";
import { type AvailabilityProvider, UploadThrottle } from "./upload_throttle.ts";
import type { StateChangeUploader } from "./uploader.ts";

/**
 * When a {@link BatchingStateChangeUploadScheduler} uploads. The settings of a store have defaults for all of them.
 *
 * @example
 * ```ts
 * import type { BatchingSchedulerOptions } from "@tidemark/tidemark";
 *
 * const options: BatchingSchedulerOptions = {
 *   persistDelayMs: 10,
 *   persistSizeThresholdBytes: 10 * 1024 * 1024,
 *   inFlightBytesMax: 100 * 1024 * 1024,
 * };
 * console.assert(options.persistSizeThresholdBytes <= options.inFlightBytesMax);
 * ```
 */
export interface BatchingSchedulerOptions {
  /** Milliseconds that a task waits for others, from the first of a batch on; 0: none. */
  readonly persistDelayMs: number;
  /**
   * Milliseconds at most that a batch waits, after an upload, for as many tasks as that one had and as waited for it to
   * end: whoever was told mostly comes again at once. @default 0
   */
  readonly persistGatherMs?: number;
  /** Bytes at which waiting tasks are uploaded without waiting any longer, and at which a batch ends. */
  readonly persistSizeThresholdBytes: number;
  /** Bytes that tasks may hold, waiting and in flight. */
  readonly inFlightBytesMax: number;
}

/**
 * What a {@link BatchingStateChangeUploadScheduler} is made of.
 *
 * @example
 * ```ts
 * import {
 *   type BatchingSchedulerComponents,
 *   NO_METRICS,
 *   RetryingExecutor,
 *   RetryPolicy,
 *   SILENT_LOGGER,
 *   UploadMetrics,
 * } from "@tidemark/tidemark";
 *
 * const clock = { nowMs: () => 0, monotonicMs: () => 0, schedule: () => ({ cancel() {} }) };
 * const components: BatchingSchedulerComponents = {
 *   executor: new RetryingExecutor({ clock, logger: SILENT_LOGGER }, { attemptsInFlightMax: 5 }),
 *   retryPolicy: RetryPolicy.fixed(3, 30_000, 500),
 *   clock,
 *   logger: SILENT_LOGGER,
 *   metrics: new UploadMetrics(NO_METRICS, "orders"),
 * };
 * console.assert(components.executor.attemptsInFlightMax === 5);
 * ```
 */
export interface BatchingSchedulerComponents {
  /** Runs the uploads; as many at once as it runs attempts. The scheduler closes it. */
  readonly executor: RetryingExecutor;
  /** Decides about the next attempt of an upload. */
  readonly retryPolicy: RetryPolicy;
  /** Drives the delay. */
  readonly clock: Clock;
  /** Told of attempts that failed. */
  readonly logger: Logger;
  /** Where batches and attempts are counted; the uploader counts what it writes. */
  readonly metrics: UploadMetrics;
  /** Counts what is held, where others count on it too. @default one of `inFlightBytesMax` */
  readonly throttle?: UploadThrottle;
}

/**
 * Uploads tasks in batches, one batch at a time, or several if the uploader can.
 *
 * A batch is due at the delay from its first task, at the size threshold, or at once when the delay is 0. While no
 * further upload may begin, tasks gather for the next one (group commit), and for `persistGatherMs` longer where more
 * are expected. Tasks go in order of arrival.
 * Seed: `BatchingStateChangeUploadScheduler`.
 *
 * @example
 * ```ts
 * import {
 *   BatchingStateChangeUploadScheduler,
 *   NO_METRICS,
 *   RetryingExecutor,
 *   RetryPolicy,
 *   SILENT_LOGGER,
 *   UploadMetrics,
 *   UploadTask,
 * } from "@tidemark/tidemark";
 *
 * const clock = { nowMs: () => 0, monotonicMs: () => 0, schedule: () => ({ cancel() {} }) };
 * const batches: number[] = [];
 * await using scheduler = new BatchingStateChangeUploadScheduler(
 *   {
 *     canOverlap: false,
 *     upload(tasks) {
 *       batches.push(tasks.length);
 *       const successful = new Map(tasks.map((task) => [task, []]));
 *       return Promise.resolve({ successful, failed: new Map() });
 *     },
 *     close: () => Promise.resolve(),
 *   },
 *   { persistDelayMs: 0, persistSizeThresholdBytes: 1_000, inFlightBytesMax: 10_000 },
 *   {
 *     executor: new RetryingExecutor({ clock, logger: SILENT_LOGGER }, { attemptsInFlightMax: 1 }),
 *     retryPolicy: RetryPolicy.none(),
 *     clock,
 *     logger: SILENT_LOGGER,
 *     metrics: new UploadMetrics(NO_METRICS, "orders"),
 *   },
 * );
 * const bytes = new Uint8Array([130, 0, 65, 5]); // [0, h'05']
 * const set = {
 *   writer: "totals",
 *   keyGroups: [0, 127] as const,
 *   epoch: 1,
 *   firstOffset: 0,
 *   count: 1,
 *   keyGroupMin: 0,
 *   keyGroupMax: 0,
 *   byteLength: bytes.length,
 *   chunks: [bytes],
 * };
 * for (const sequenceNumber of [0, 1, 2]) {
 *   scheduler.upload(new UploadTask([{ ...set, sequenceNumber }], () => {}, () => {}));
 * }
 * await scheduler.whenIdle();
 * console.assert(batches.join() === "3"); // one upload for all three
 * ```
 */
export class BatchingStateChangeUploadScheduler implements StateChangeUploadScheduler {
  readonly #uploader: StateChangeUploader;
  readonly #components: BatchingSchedulerComponents;
  readonly #throttle: UploadThrottle;
  readonly #uploads: BatchUploads;
  /** Uploads that may run at once. */
  readonly #runningMax: number;
  readonly #queue: UploadQueue<SchedulerTask>;
  readonly #hasDelay: boolean;
  readonly #tasks: TaskLedger;
  /** Tasks that wait for room, and what ends the wait. */
  readonly #waiting = new Map<SchedulerTask, () => void>();
  readonly #hideGauges: () => void;
  /** What an upload may know of the next one. */
  readonly #upcoming: UpcomingTasks = {
    next: (diskMs) =>
      this.#queue.close(this.#components.clock.monotonicMs(), diskMs)?.map(({ task }) => task),
    onArrival: (listener) => {
      this.#arrivals = listener;
      return () => {
        // A call that was given up ends when another upload listens already.
        if (this.#arrivals === listener) this.#arrivals = undefined;
      };
    },
  };
  #arrivals: ((task: UploadTask) => void) | undefined;
  #runningCount = 0;
  #timer: Timer | undefined;
  /** When it fires. */
  #timerAtMs = 0;
  /** An upload is about to begin, once everything of this turn has been handed over. */
  #isBeginning = false;
  #closed: Error | undefined;
  #isAborted = false;
  #draining: Promise<void> | undefined;

  /**
   * Makes a scheduler that is open at once.
   *
   * @param uploader Writes the batches; a drain closes it.
   * @param options When to upload.
   * @param components What it is made of.
   * @throws {RangeError} A threshold above the in-flight limit, which would never be reached.
   */
  constructor(
    uploader: StateChangeUploader,
    options: BatchingSchedulerOptions,
    components: BatchingSchedulerComponents,
  ) {
    checkOptions(options);
    const { persistDelayMs, persistGatherMs = 0, persistSizeThresholdBytes, inFlightBytesMax } =
      options;
    const { executor, clock, logger, metrics } = components;
    this.#uploader = uploader;
    this.#components = components;
    this.#throttle = components.throttle ??
      new UploadThrottle(inFlightBytesMax, inFlightBytesMax, { waits: { clock, metrics } });
    this.#tasks = new TaskLedger(this.#throttle, logger);
    this.#uploads = new BatchUploads(uploader, components);
    this.#runningMax = uploader.canOverlap ? executor.attemptsInFlightMax : 1;
    this.#hasDelay = persistDelayMs > 0;
    this.#queue = new UploadQueue({
      delayMs: persistDelayMs,
      gatherMs: persistGatherMs,
      thresholdBytes: persistSizeThresholdBytes,
    });
    this.#hideGauges = metrics.observe({
      queueTasks: () => this.#queue.length,
      inFlightBytes: () => this.#throttle.bytes,
      attemptsInFlight: () => executor.attemptsInFlight,
    });
  }

  get availability(): AvailabilityProvider {
    return this.#throttle;
  }

  get isUploading(): boolean {
    return this.#runningCount > 0 || this.#isBeginning;
  }

  upload(task: UploadTask): void {
    if (this.#closed !== undefined) {
      this.#tasks.refuse(task, this.#closed);
      return;
    }
    if (task.changeSets.length === 0) {
      this.#tasks.settle(this.#tasks.add(task), (empty) => empty.complete([]));
      return;
    }
    const taken = this.#tasks.add(task);
    if (task.isAdmitted) this.#enqueue(taken);
    else this.#requestRoom(taken);
  }

  flush(): void {
    this.#queue.flush();
    this.#arrange();
  }

  whenIdle(): Promise<void> {
    return this.#tasks.whenEmpty();
  }

  async close(options: SchedulerCloseOptions = { mode: "drain" }): Promise<void> {
    if (options.mode === "abort") {
      this.#abortAll(options.reason);
      await this.#components.executor.close(options.reason);
    } else {
      this.#draining ??= this.#drain();
      await this.#draining;
    }
  }

  /** Drains. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #drain(): Promise<void> {
    this.#closed ??= new TidemarkError("closed", "Cannot upload: the job is closed; open it again");
    this.flush();
    await this.whenIdle();
    this.#hideGauges();
    await this.#components.executor.close();
    if (!this.#isAborted) await this.#uploader.close();
  }

  #abortAll(reason: Error): void {
    // A later reason changes nothing for whom was told, but it is what newcomers hear.
    this.#closed = reason;
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#timer?.cancel();
    for (const leave of this.#waiting.values()) leave();
    this.#waiting.clear();
    this.#queue.takeAll();
    this.#tasks.failAll(reason);
    this.#hideGauges();
  }

  #requestRoom(taken: SchedulerTask): void {
    const { size } = taken.task;
    let isOver = false;
    const over = (): void => {
      isOver = true;
      this.#waiting.delete(taken);
    };
    const leave = this.#throttle.request(size, {
      admit: () => {
        over();
        taken.heldBytes = size;
        this.#enqueue(taken);
        // A drain waits for no delay.
        if (this.#closed !== undefined) this.flush();
      },
      refuse: (reason) => {
        over();
        this.#tasks.fail(taken, reason);
      },
    });
    if (isOver) return;
    this.#waiting.set(taken, leave);
    // What waits for the delay holds the room that is wanted.
    this.flush();
  }

  #enqueue(taken: SchedulerTask): void {
    // Without a delay it is due from the beginning of time.
    const nowMs = this.#hasDelay ? this.#components.clock.monotonicMs() : 0;
    this.#queue.add(taken, taken.task.size, nowMs);
    this.#arrange();
    this.#tellArrival(taken.task);
  }

  #tellArrival(task: UploadTask): void {
    try {
      this.#arrivals?.(task);
    } catch (error) {
      // It is the uploader's: whoever handed the task over has nothing to do with it.
      this.#components.logger.log("warning", "An uploader can't hear of a task", { error });
    }
  }

  /** Begins an upload when one is due and may run; else sees to it that it will. */
  #arrange(): void {
    if (this.#isBeginning || this.#runningCount >= this.#runningMax) return;
    const nowMs = this.#components.clock.monotonicMs();
    const dueInMs = this.#queue.dueInMs(nowMs);
    if (dueInMs === undefined) return;
    if (dueInMs > 0) {
      this.#arrangeIn(dueInMs, nowMs + dueInMs);
      return;
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isBeginning = true;
    // Every persist of this turn joins the batch.
    void Promise.resolve().then(() => this.#begin());
  }

  /** A timer that fires too early arranges anew; one that would fire too late is replaced. */
  #arrangeIn(delayMs: number, atMs: number): void {
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#components.clock.schedule(delayMs, () => {
      this.#timer = undefined;
      this.#arrange();
    }, { keepsAlive: true });
  }

  #begin(): void {
    this.#isBeginning = false;
    const batch = this.#queue.takeBatch();
    if (batch.length > 0) void this.#upload(batch);
    this.#arrange();
  }

  async #upload(batch: readonly SchedulerTask[]): Promise<void> {
    this.#runningCount += 1;
    let result: UploadTasksResult | undefined;
    let failure: unknown;
    try {
      result = await this.#uploads.upload(batch.map(({ task }) => task), this.#upcoming);
      // Aborted between the success and now: its tasks have failed.
      if (this.#isAborted) this.#uploads.discard(result);
    } catch (error) {
      failure = error;
    }
    // Whoever is told finds the place of this upload free.
    this.#runningCount -= 1;
    this.#queue.expectAfter(batch.length, this.#components.clock.monotonicMs());
    for (const taken of batch) {
      if (result === undefined) this.#tasks.fail(taken, toUploadError(failure));
      else this.#tasks.settleBy(taken, result);
    }
    this.#arrange();
  }
}

function checkOptions(options: BatchingSchedulerOptions): void {
  const { persistDelayMs, persistGatherMs = 0, persistSizeThresholdBytes, inFlightBytesMax } =
    options;
  if (!(persistDelayMs >= 0)) {
    throw new RangeError(
      `Cannot make batches with persistDelayMs ${persistDelayMs}: wants 0 or more`,
    );
  }
  if (!(persistGatherMs >= 0 && persistGatherMs < Infinity)) {
    throw new RangeError(
      `Cannot make batches with persistGatherMs ${persistGatherMs}: wants 0 or more`,
    );
  }
  if (!(persistSizeThresholdBytes >= 0 && persistSizeThresholdBytes <= inFlightBytesMax)) {
    throw new RangeError(
      `Cannot make batches with persistSizeThresholdBytes ${persistSizeThresholdBytes}: wants at most inFlightBytesMax, which is ${inFlightBytesMax}`,
    );
  }
}
