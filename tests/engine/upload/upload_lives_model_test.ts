import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ChangeFileEncoder } from "../../../src/engine/format/change_file_encoder.ts";
import type { ChangeSet } from "../../../src/engine/format/change_set.ts";
import { KIB, MIB } from "../../../src/engine/limits.ts";
import { resolveSettings } from "../../../src/engine/settings.ts";
import { BatchingStateChangeUploadScheduler } from "../../../src/engine/upload/batching_scheduler.ts";
import { StateChangeFsUploader } from "../../../src/engine/upload/fs_uploader.ts";
import { RetryPolicy } from "../../../src/engine/upload/retry_policy.ts";
import { RetryingExecutor } from "../../../src/engine/upload/retrying_executor.ts";
import { UploadMetrics } from "../../../src/engine/upload/upload_metrics.ts";
import { UploadTask } from "../../../src/engine/upload/upload_task.ts";
import { NO_METRICS } from "../../../src/engine/port/metrics.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { turn } from "../_engine.ts";
import { newThreadLog, readFiles } from "./_log.ts";
import { largeSet, setOf } from "./_sets.ts";
import { SlowDisk } from "./_slow_disk.ts";

const SEEDS = 12;
const STEPS = 60;
/** More than what a thread is given at once. */
const HUGE_BYTES = 5 * MIB;
/** A drain ends in fewer turns than that. */
const TURNS_MAX = 400;
const SIZES = [10, 10, 260 * KIB, 260 * KIB, 300 * KIB, 600 * KIB, 1100 * KIB];

/** Uploads of sets of all sizes on a slow disk, with a codec thread that encodes when it likes. */
class Life {
  readonly random: SeededRandom;
  readonly settings;
  readonly bench;
  readonly disk: SlowDisk;
  readonly scheduler: BatchingStateChangeUploadScheduler;
  /** Copies of all sets, as they were handed over. */
  readonly sets: ChangeSet[] = [];
  /** What came of each set. */
  readonly outcomes = new Map<number, "durable" | Error>();
  /** Batches that another thread began with because sets arrived. */
  begun = 0;

  constructor(seed: number) {
    const random = this.random = new SeededRandom(seed);
    const isTroubled = random.chance(0.4);
    this.settings = resolveSettings({
      blockBytes: random.pick([64 * KIB, 256 * KIB]),
      compression: random.pick(["lz4", "none"]),
      changeFileBytesMax: random.pick([MIB, 1024 * MIB]),
    });
    this.bench = newThreadLog(this.settings, { isHeld: true });
    this.disk = new SlowDisk(this.bench.backend, random, isTroubled);
    const { clock, logger } = this.bench.ports;
    const uploader = new StateChangeFsUploader(this.bench.log, () => {
      if (isTroubled && random.chance(0.1)) throw new Error("the owner can't be looked at");
    });
    this.scheduler = new BatchingStateChangeUploadScheduler(
      this.#counting(uploader),
      {
        persistDelayMs: 0,
        persistGatherMs: random.pick([0, 3]),
        persistSizeThresholdBytes: random.pick([300 * KIB, MIB, 8 * MIB]),
        inFlightBytesMax: 16 * MIB,
      },
      {
        executor: new RetryingExecutor({ clock, logger }, { attemptsInFlightMax: 5 }),
        retryPolicy: random.pick([RetryPolicy.none(), RetryPolicy.fixed(4, 30, 5)]),
        clock,
        logger,
        metrics: new UploadMetrics(NO_METRICS, "job"),
      },
    );
  }

  #counting(uploader: StateChangeFsUploader): StateChangeFsUploader {
    const upload = uploader.upload.bind(uploader);
    uploader.upload = (tasks, { onArrival, ...options } = {}) =>
      upload(tasks, {
        ...options,
        onArrival: (listener) =>
          onArrival!((task) => {
            const { lent } = this.bench.thread;
            listener(task);
            if (this.bench.thread.lent > lent) this.begun += 1;
          }),
      });
    return uploader;
  }

  async live(): Promise<void> {
    const { random, disk, scheduler, bench: { thread, ports } } = this;
    for (let step = 0; step < STEPS; step++) {
      random.pick([
        () => this.#upload(),
        () => this.#upload(),
        () => disk.releaseOne(),
        () => disk.releaseOne(),
        () => thread.run(),
        () => scheduler.flush(),
        () => void (thread.isGone = random.chance(0.1)),
        () => void ports.clock.advance(random.pick([1, 3, 31])),
      ])();
      if (random.chance(0.7)) await turn();
    }
    await this.#drain();
  }

  #upload(): void {
    const bytes = this.random.chance(0.03) ? HUGE_BYTES : this.random.pick(SIZES);
    const set = setOfAbout(this.sets.length, bytes);
    const { sequenceNumber, chunks } = set;
    this.sets.push({ ...set, chunks: chunks.map((chunk) => chunk.slice()) });
    const told = (outcome: "durable" | Error): void => {
      assert.ok(!this.outcomes.has(sequenceNumber), "a task is told twice");
      this.outcomes.set(sequenceNumber, outcome);
      // Given back, and taken for something else.
      if (outcome === "durable") { for (const chunk of chunks) chunk.fill(0xee); }
    };
    this.scheduler.upload(new UploadTask([set], () => told("durable"), (_, error) => told(error)));
  }

  async #drain(): Promise<void> {
    const { disk, bench: { thread, ports } } = this;
    let isOver = false;
    const drained = this.scheduler.close().then(() => void (isOver = true));
    for (let i = 0; i < TURNS_MAX && !(isOver && disk.waitingCount === 0); i++) {
      disk.release();
      thread.run();
      await ports.clock.advance(1);
      await turn();
    }
    assert.ok(isOver, "it does not end");
    await drained;
    await this.bench.log.close();
  }

  async check(): Promise<void> {
    const { sets, outcomes, disk, bench: { backend, thread } } = this;
    assert.equal(outcomes.size, sets.length);
    assert.equal(thread.released, thread.lent);
    for (const outcome of outcomes.values()) {
      // Those of the engine itself say that its parts did not fit together.
      if (outcome instanceof Error) assert.doesNotMatch(String(outcome), /TypeError|two batches/);
    }
    const stored = new Set<number>();
    for (const { key, header, batches } of await readFiles(backend)) {
      if (header === undefined) continue;
      const encoder = new ChangeFileEncoder(header, this.settings);
      const pieces = [encoder.begin()];
      for (const batch of batches) {
        const numbers = batch.sets.map(({ sequenceNumber }) => sequenceNumber);
        for (const number of numbers) stored.add(number);
        for (const piece of encoder.batch(numbers.map((number) => sets[number]))) {
          pieces.push(piece.slice());
        }
      }
      const wanted = Buffer.concat(pieces);
      const found = (await backend.get(key))!.subarray(0, wanted.length);
      assert.ok(wanted.equals(found), `${key} has other bytes`);
      const ends = batches.map(({ end }) => end);
      const synced = disk.synced.get(key)!;
      assert.deepEqual(synced, ends.slice(0, synced.length), "batches are synced one by one");
      assert.ok(ends.length - synced.length <= 1, "more than one batch is not durable");
    }
    for (const [number, outcome] of outcomes) {
      if (outcome === "durable") assert.ok(stored.has(number), `set ${number} is lost`);
    }
  }
}

function setOfAbout(sequenceNumber: number, bytes: number): ChangeSet {
  return bytes < KIB ? setOf(sequenceNumber) : largeSet(sequenceNumber, bytes, 20 * KIB);
}

describe("Uploads on a slow disk with a codec thread", () => {
  test("make the same bytes durable, batch by batch, whatever comes when", async () => {
    let begun = 0;
    console.log(`seeds 1 to ${SEEDS}`);
    for (let seed = 1; seed <= SEEDS; seed++) {
      const life = new Life(seed);
      try {
        await life.live();
        await life.check();
      } catch (error) {
        console.log(`seed ${seed}`);
        throw error;
      }
      begun += life.begun;
    }
    assert.ok(begun > 0, "nothing was begun because of what arrived");
  });
});
