import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BatchingStateChangeUploadScheduler } from "../../../src/engine/upload/batching_scheduler.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { RetryingExecutor } from "../../../src/engine/upload/retrying_executor.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import { type UploadResult, UploadTask } from "../../../src/engine/upload/upload_task.ts";
import { UploadThrottle } from "../../../src/engine/upload/upload_throttle.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { RecordingMetrics } from "../../doubles/recording_metrics.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { ChaosUploader } from "./_chaos_uploader.ts";
import { setOfBytes } from "./_sets.ts";

const SEEDS = 400;
const STEPS = 40;
const LIMIT = 1000;
const THRESHOLDS = [0, 300, 1000];
const DELAYS = [0, 0, 10, 50];

/** What the test knows of a task. */
interface Known {
  readonly task: UploadTask;
  readonly number: number;
  readonly bytes: number;
  results?: readonly UploadResult[];
  error?: Error;
  events: number;
}

/** Lets promises settle, without any time going by. */
async function settle(): Promise<void> {
  for (let i = 0; i < 40; i++) await undefined;
}

function policyOf(random: SeededRandom): { policy: RetryPolicy; timesOut: boolean } {
  const attempts = 1 + random.below(4);
  const timeoutMs = random.pick([0, 20, 20]);
  const delayMs = random.pick([0, 15]);
  const kind = random.below(4);
  if (kind === 0) return { policy: RetryPolicy.none(), timesOut: false };
  const policy = kind === 1
    ? RetryPolicy.exponential({
      attemptsMax: attempts,
      timeoutMs,
      delayMsMin: delayMs,
      delayMsMax: 60,
      deadlineMs: 200,
      random,
    })
    : RetryPolicy.fixed(attempts, timeoutMs, delayMs);
  return { policy, timesOut: timeoutMs > 0 };
}

/** One life of a scheduler, and what must be true of it. */
class Life {
  readonly random: SeededRandom;
  readonly clock = new ManualClock();
  readonly throttle = new UploadThrottle(LIMIT);
  readonly uploader: ChaosUploader;
  readonly executor: RetryingExecutor;
  readonly scheduler: BatchingStateChangeUploadScheduler;
  readonly known: Known[] = [];
  readonly byTask = new Map<UploadTask, Known>();
  /** Requests of others for room: served ones, in order. */
  readonly served: number[] = [];
  readonly thresholdBytes: number;
  readonly timesOut: boolean;
  requests = 0;
  othersBytes = 0;
  largest = 0;

  constructor(seed: number) {
    const random = this.random = new SeededRandom(seed);
    const { clock, throttle } = this;
    const canOverlap = random.chance(0.5);
    const attemptsInFlightMax = 1 + random.below(3);
    this.uploader = new ChaosUploader(random, clock, { canOverlap, attemptsInFlightMax });
    const logger = new RecordingLogger();
    this.executor = new RetryingExecutor({ clock, logger }, { attemptsInFlightMax });
    const { policy, timesOut } = policyOf(random);
    this.timesOut = timesOut;
    this.thresholdBytes = random.pick(THRESHOLDS);
    this.scheduler = new BatchingStateChangeUploadScheduler(
      this.uploader,
      {
        persistDelayMs: random.pick(DELAYS),
        persistSizeThresholdBytes: this.thresholdBytes,
        inFlightBytesMax: LIMIT,
      },
      {
        executor: this.executor,
        retryPolicy: policy,
        clock,
        logger,
        throttle,
        metrics: new UploadMetrics(new RecordingMetrics(), "orders"),
      },
    );
  }

  async step(): Promise<void> {
    const { random } = this;
    const action = random.below(10);
    if (action < 5) this.upload();
    else if (action < 6) this.request();
    else if (action < 7) this.scheduler.flush();
    else this.clock.advanceSync(random.below(25));
    if (random.chance(0.8)) await settle();
    this.checkAlways();
  }

  upload(): void {
    const { random } = this;
    const size = random.pick([50, 100, 100, 400, 900, 1500]);
    const isAdmitted = random.chance(0.5) && this.throttle.tryAdmit(size);
    const sets = random.chance(0.05) ? [] : [setOfBytes(this.known.length, size)];
    const note = (told: Pick<Known, "results" | "error">): void => {
      Object.assign(known, told);
      known.events += 1;
      if (isAdmitted) this.throttle.uploadCompleted(size);
      // An owner may go on at once.
      if (random.chance(0.1) && this.known.length < 200) this.upload();
    };
    const task = new UploadTask(
      sets,
      (results) => note({ results }),
      (_, error) => note({ error }),
      { isAdmitted },
    );
    const known: Known = { task, number: this.known.length, bytes: size, events: 0 };
    this.known.push(known);
    this.byTask.set(task, known);
    this.largest = Math.max(this.largest, size);
    this.scheduler.upload(task);
  }

  /** Somebody else asks for room, and may leave before there is. */
  request(): void {
    const size = this.random.pick([100, 600, 1200]);
    const number = this.requests++;
    this.largest = Math.max(this.largest, size);
    const abort = new AbortController();
    this.throttle.requestUpload(size, { signal: abort.signal }).then(
      () => {
        this.served.push(number);
        this.othersBytes += size;
        this.clock.schedule(this.random.below(60), () => {
          this.othersBytes -= size;
          this.throttle.uploadCompleted(size);
        });
      },
      (error) => assert.equal(error, abort.signal.reason),
    );
    const leave = this.random.chance(0.3) ? 20 : 500;
    this.clock.schedule(leave, () => abort.abort(new Error("left")));
  }

  checkAlways(): void {
    const { bytes } = this.throttle;
    assert.ok(bytes <= Math.max(LIMIT, this.largest), `${bytes} bytes are held`);
    for (const { events, number } of this.known) {
      assert.ok(events <= 1, `task ${number} was told ${events} times`);
    }
  }

  async close(): Promise<void> {
    const isAbort = this.random.chance(0.5);
    const reason = new Error("aborted");
    const closing = isAbort ? undefined : this.scheduler.close();
    let isClosed = false;
    closing?.then(() => isClosed = true);
    for (let i = 0; closing !== undefined && !isClosed && i < 100; i++) {
      this.clock.advanceSync(10);
      await settle();
      this.checkAlways();
    }
    const isStuck = !isClosed;
    if (isStuck) {
      this.uploader.isForbidden = true;
      await this.scheduler.close({ mode: "abort", reason });
      await closing;
    }
    assert.equal(this.uploader.closes, isStuck ? 0 : 1);
    this.upload();
    for (const { events, number } of this.known) assert.equal(events, 1, `task ${number}`);
    assert.equal(this.scheduler.isUploading, false);
    await this.scheduler.whenIdle();
    await this.end();
  }

  /** Lets everything that still hangs come to its end, and looks at what is left. */
  async end(): Promise<void> {
    this.clock.advanceSync(1000);
    await settle();
    for (const call of this.uploader.calls) call.end();
    await settle();
    this.clock.advanceSync(1000);
    await settle();
    assert.equal(this.throttle.bytes, this.othersBytes);
    assert.equal(this.othersBytes, 0);
    assert.equal(this.throttle.waitingCount, 0);
    assert.equal(this.clock.pendingCount, 0, "timers are left");
    assert.equal(this.executor.attemptsInFlight, 0);
    this.checkResults();
    this.checkOrder();
  }

  /** Every task heard of the one upload that won; every other success was handed over, once. */
  checkResults(): void {
    const winners = new Set<unknown>();
    for (const { task, results, error, number } of this.known) {
      if (error !== undefined || task.changeSets.length === 0) continue;
      const won = this.uploader.calls.find(({ result }) => result.successful.get(task) === results);
      assert.ok(won?.isSuccess, `task ${number} is complete without an upload`);
      winners.add(won);
    }
    for (const call of this.uploader.calls) {
      // A success of which every task was refused or forgotten can't be told from another by its tasks.
      if (call.result.successful.size === 0) continue;
      const isLoser = call.isSuccess && !winners.has(call) && this.uploader.canOverlap;
      assert.equal(call.discards, isLoser ? 1 : 0, "successes that are handed over");
    }
  }

  /** Tasks are uploaded in the order in which they came, those that had to wait for room among themselves. */
  checkOrder(): void {
    const first = new Set(this.uploader.calls.flatMap(({ tasks }) => tasks));
    const numbers = (isAdmitted: boolean) =>
      [...first].filter((task) => task.isAdmitted === isAdmitted)
        .map((task) => this.byTask.get(task)!.number);
    const inOrder = (list: number[]) => list.every((number, i) => i === 0 || list[i - 1] < number);
    assert.ok(inOrder(this.served), `room was given in order ${this.served}`);
    for (const { tasks } of this.uploader.calls) {
      const sizes = tasks.map(({ size }) => size);
      const before = sizes.slice(0, -1).reduce((sum, size) => sum + size, 0);
      assert.ok(before < Math.max(1, this.thresholdBytes), `a batch of ${sizes}`);
    }
    // A batch whose first attempt waits too long for a place may be overtaken.
    if (this.uploader.canOverlap && this.timesOut) return;
    for (const isAdmitted of [true, false]) {
      assert.ok(inOrder(numbers(isAdmitted)), `uploaded in order ${numbers(isAdmitted)}`);
    }
  }
}

describe("scheduler, throttle and executor over random lives", () => {
  test("settle every task once, in order, within every limit", async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      try {
        const life = new Life(seed);
        const steps = life.random.below(STEPS);
        for (let i = 0; i < steps; i++) await life.step();
        await life.close();
      } catch (cause) {
        throw new Error(`Seed ${seed}: ${(cause as Error).message}`, { cause });
      }
    }
  });
});
