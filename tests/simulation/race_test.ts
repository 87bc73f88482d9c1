/**
 * Owners that race for a job in one process: each call of the disk takes effect after a number of turns that the seed
 * decides, and so does each step of the owners.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/engine/errors.ts";
import { NO_METRICS } from "../../src/engine/port/metrics.ts";
import type { ProcessInfo } from "../../src/engine/port/process_info.ts";
import { resolveSettings } from "../../src/engine/settings.ts";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import { OpenStore } from "../../src/engine/store.ts";
import type { Job } from "../../src/engine/types.ts";
import { ProcessTable } from "../doubles/fixed_process_info.ts";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { JOB, restoreAll } from "./_scenario.ts";

const SEEDS = 100;
const OWNERS = 2;
const WRITER = "w";
const encoder = new TextEncoder();

const SETTINGS = resolveSettings({
  changeFileBytesMax: 2048,
  persistDelayMs: 0,
  uploadRetryPolicy: "none",
  reserveBytes: 0,
});

class Race {
  readonly #disk: ForgettingDisk;
  readonly #random: SeededRandom;
  readonly #clock = new ManualClock();
  readonly #processes = new ProcessTable();
  /** Changes whose persist was answered. */
  readonly #acknowledged: string[] = [];
  readonly #checkpoints = new Set<string>();
  readonly counts = { opened: 0, lost: 0, won: 0, fenced: 0, acknowledged: 0, checkpoints: 0 };

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const delayTurnsMax = this.#random.pick([1, 3, 8, 20]);
    this.#disk = new ForgettingDisk({ seed, delayTurnsMax, clock: this.#clock });
  }

  /** Owners race; then one of them, and no other, goes on; and after a power cut all that was promised is there. */
  async run(): Promise<void> {
    await (await this.#openStore(this.#processes.start())).close();
    const owners = await Promise.all(Array.from({ length: OWNERS }, () => this.#own()));
    const jobs = owners.flat();
    const isAlive = await Promise.all(jobs.map((job) => this.#persistOne(job, "last")));
    const alive = jobs.filter((_, at) => isAlive[at]);
    assert.equal(alive.length, 1, `${alive.length} owners at once`);
    this.counts.won += alive.length;
    const newest = Math.max(...jobs.map(({ epoch }) => epoch));
    assert.ok(alive.every(({ epoch }) => epoch === newest), "an owner that was overtaken goes on");
    await this.#checkAfterPowerCut();
  }

  /** One pipeline, that takes the job back when it loses it, a few times. */
  async #own(): Promise<Job[]> {
    const jobs: Job[] = [];
    for (let life = 1 + this.#random.below(3); life > 0; life--) {
      await this.#pause();
      const job = await this.#open();
      if (job === undefined) continue;
      jobs.push(job);
      for (let step = this.#random.below(8); step > 0; step--) {
        await this.#pause();
        const isDone = await (this.#random.chance(0.2)
          ? this.#checkpoint(job)
          : this.#persistOne(job, String(step)));
        if (!isDone) {
          break;
        }
      }
    }
    return jobs;
  }

  async #openStore(process: ProcessInfo): Promise<OpenStore> {
    const ports = {
      clock: this.#clock,
      random: this.#random,
      logger: new RecordingLogger(),
      metrics: NO_METRICS,
    };
    const fileSystem = this.#disk.fileSystem();
    const backend = new PosixBackend({ ...ports, process, root: "/disk/store", fileSystem });
    return await OpenStore.open(backend, SETTINGS, ports);
  }

  async #open(): Promise<Job | undefined> {
    const store = await this.#openStore(this.#processes.start());
    try {
      const job = await store.job(JOB, { takeOver: true });
      this.counts.opened++;
      return job;
    } catch (error) {
      assert.ok(hasCode(error, "fenced"), `an open that lost: ${error}`);
      this.counts.lost++;
      return undefined;
    }
  }

  /** Whether an append became durable; if not, the job must have another owner. */
  #persistOne(job: Job, name: string): Promise<boolean> {
    return this.#unlessFenced(async () => {
      const writer = job.writer(WRITER);
      const change = `${job.epoch} ${name} ${"x".repeat(this.#random.below(80))}`;
      writer.append(0, encoder.encode(change));
      await writer.persist();
      this.#acknowledged.push(change);
      this.counts.acknowledged++;
    });
  }

  #checkpoint(job: Job): Promise<boolean> {
    return this.#unlessFenced(async () => {
      // Whatever retention lets go rests in quarantine for longer than a race takes.
      this.#checkpoints.add((await job.checkpoint()).uuid);
      this.counts.checkpoints++;
    });
  }

  async #unlessFenced(action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      assert.ok(hasCode(error, "fenced"), `an owner that was overtaken: ${error}`);
      this.counts.fenced++;
      return false;
    }
  }

  async #pause(): Promise<void> {
    for (let turns = this.#random.below(150); turns > 0; turns--) await null;
  }

  async #checkAfterPowerCut(): Promise<void> {
    this.#disk.crash("power-cut");
    const job = await (await this.#openStore(this.#processes.start())).job(JOB, { takeOver: true });
    const tail = (await restoreAll(job, "tail")).get(WRITER) ?? [];
    assert.equal(new Set(tail).size, tail.length, "a change is there twice");
    for (const change of this.#acknowledged) {
      assert.ok(tail.includes(change), `the acknowledged change "${change}" is lost`);
    }
    const epochs = tail.map((change) => Number(change.split(" ")[0]));
    assert.deepEqual(epochs, [...epochs].sort((one, other) => one - other), "owners interleave");
    for (const uuid of this.#checkpoints) {
      const restored = (await restoreAll(job, uuid)).get(WRITER) ?? [];
      assert.deepEqual(restored, tail.slice(0, restored.length), `checkpoint ${uuid}`);
    }
    assert.deepEqual((await job.verify()).problems, []);
  }
}

describe("owners that race for a job", () => {
  test("take it one after another, and lose nothing that was acknowledged", async () => {
    const totals: Record<string, number> = {};
    for (let seed = 1; seed <= SEEDS; seed++) {
      const race = new Race(seed);
      await race.run().catch((error) => {
        throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
      });
      for (const [name, count] of Object.entries(race.counts)) {
        totals[name] = (totals[name] ?? 0) + count;
      }
    }
    for (const [name, count] of Object.entries(totals)) {
      assert.ok(count > SEEDS / 10, `${SEEDS} races: ${name} ${count} times`);
    }
    console.log(`${SEEDS} races: ${JSON.stringify(totals)}`);
  });
});
