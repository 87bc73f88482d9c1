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
  /** What the engine goes by. */
  readonly clock = new ManualClock();
  /** What the store and others go by, so that timers which the engine forgets are seen. */
  readonly worldClock = new ManualClock();
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
    const { clock, throttle, worldClock } = this;
    const canOverlap = random.chance(0.5);
    const attemptsInFlightMax = 1 + random.below(3);
    this.uploader = new ChaosUploader(random, worldClock, { canOverlap, attemptsInFlightMax });
    const logger = new RecordingLogger();
    this.executor = new RetryingExecutor({ clock, logger }, { attemptsInFlightMax });
    const { policy, timesOut } = policyOf(random);
    this.timesOut = timesOut;
    this.thresholdBytes = random.pick(THRESHOLDS);
    this.scheduler = new BatchingStateChangeUploadScheduler(
      this.uploader,
      {
        persistDelayMs: random.pick(DELAYS),
        persistGatherMs: random.pick(DELAYS),
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
    else this.advance(random.below(25));
    if (random.chance(0.8)) await settle();
    this.checkAlways();
  }

  advance(ms: number): void {
    for (let i = 0; i < ms; i++) {
      this.worldClock.advanceSync(1);
      this.clock.advanceSync(1);
    }
  }

  /** @param again Share of owners that go on as they are told. */
  upload(again = 0.1): void {
    const { random } = this;
    const size = random.pick([50, 100, 100, 400, 900, 1500]);
    const isAdmitted = random.chance(0.5) && this.throttle.tryAdmit(size);
    const sets = random.chance(0.05) ? [] : [setOfBytes(this.known.length, size)];
    const note = (told: Pick<Known, "results" | "error">): void => {
      Object.assign(known, told);
      known.events += 1;
      if (isAdmitted) this.throttle.uploadCompleted(size);
      // An owner may go on at once.
      if (random.chance(again) && this.known.length < 200) this.upload();
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
        this.worldClock.schedule(this.random.below(60), () => {
          this.othersBytes -= size;
          this.throttle.uploadCompleted(size);
        });
      },
      (error) => assert.equal(error, abort.signal.reason),
    );
    const leave = this.random.chance(0.3) ? 20 : 500;
    this.worldClock.schedule(leave, () => abort.abort(new Error("left")));
  }

  checkAlways(): void {
    const { bytes } = this.throttle;
    assert.ok(bytes <= Math.max(LIMIT, this.largest), `${bytes} bytes are held`);
    assert.deepEqual(this.uploader.complaints, []);
    for (const { events, number } of this.known) {
      assert.ok(events <= 1, `task ${number} was told ${events} times`);
    }
  }

  /** When nothing hangs, a task that comes is uploaded. */
  async probe(): Promise<void> {
    for (let i = 0; i < 60 && !await this.isIdle(); i++) {
      this.advance(20);
      await settle();
      for (const call of this.uploader.calls) call.end();
      await settle();
    }
    assert.ok(await this.isIdle(), "something waits though nothing hangs");
    this.upload(0);
    const { task } = this.known.at(-1)!;
    this.advance(60);
    await settle();
    assert.ok(
      task.changeSets.length === 0 || this.uploader.begun.some((tasks) => tasks.includes(task)),
      "a task is not uploaded though nothing runs",
    );
  }

  async isIdle(): Promise<boolean> {
    let isIdle = false;
    this.scheduler.whenIdle().then(() => isIdle = true);
    await settle();
    const { bytes, waitingCount } = this.throttle;
    return isIdle && bytes === 0 && waitingCount === 0 && this.uploader.running === 0;
  }

  async close(): Promise<void> {
    if (this.random.chance(0.5)) await this.probe();
    const isDrain = this.random.chance(0.5);
    let isClosed = false;
    const closing = isDrain ? this.scheduler.close().then(() => isClosed = true) : undefined;
    const mayGoOn = (i: number) => i < 100 || (this.uploader.running === 0 && i < 3000);
    for (let i = 0; isDrain && !isClosed && mayGoOn(i); i++) {
      this.advance(10);
      await settle();
      this.checkAlways();
    }
    const isAborted = !isClosed;
    if (isAborted) {
      assert.ok(!isDrain || this.uploader.running > 0, "a drain waits though nothing hangs");
      this.uploader.isForbidden = true;
      await this.scheduler.close({ mode: "abort", reason: new Error("aborted") });
      await closing;
    }
    assert.equal(this.uploader.closes, isAborted ? 0 : 1);
    assert.equal(this.clock.pendingCount, 0, "timers are left");
    this.upload();
    for (const { events, number } of this.known) assert.equal(events, 1, `task ${number}`);
    await settle();
    assert.equal(this.scheduler.isUploading, false);
    await this.scheduler.whenIdle();
    await this.end();
  }

  /** Lets everything that still hangs come to its end, and looks at what is left. */
  async end(): Promise<void> {
    this.advance(600);
    await settle();
    for (const call of this.uploader.calls) call.end();
    await settle();
    this.advance(600);
    await settle();
    assert.equal(this.throttle.bytes, this.othersBytes);
    assert.equal(this.othersBytes, 0);
    assert.equal(this.throttle.waitingCount, 0);
    assert.equal(this.executor.attemptsInFlight, 0);
    this.checkAlways();
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
    const first = new Set(this.uploader.begun.flat());
    const numbers = (isAdmitted: boolean) =>
      [...first].filter((task) => task.isAdmitted === isAdmitted)
        .map((task) => this.byTask.get(task)!.number);
    const inOrder = (list: number[]) => list.every((number, i) => i === 0 || list[i - 1] < number);
    assert.ok(inOrder(this.served), `room was given in order ${this.served}`);
    for (const tasks of this.uploader.begun) {
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
