/**
 * A pipeline's life on a disk that may crash at any call: open, append, checkpoint, resume, reopen, take over.
 * @module
 */
import assert from "node:assert/strict";
import { hasCode } from "../../src/engine/errors.ts";
import { resolveSettings, type StoreSettings } from "../../src/engine/settings.ts";
import { NO_METRICS } from "../../src/engine/port/metrics.ts";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import { OpenStore } from "../../src/engine/store.ts";
import type { Job, JobReader, Store } from "../../src/engine/types.ts";
import { fixedProcessInfo } from "../doubles/fixed_process_info.ts";
import type { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import type { Line, Oracle } from "./_oracle.ts";
import { checkStates, statesFor } from "./_states.ts";

export const JOB = "orders";
export const WRITERS = ["left", "right"] as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Small, so that a scenario has several files and blocks; nothing waits for time that nobody moves on. */
const SETTINGS: Partial<StoreSettings> = {
  changeFileBytesMax: 2048,
  reserveBytes: 64,
  persistDelayMs: 0,
  uploadRetryPolicy: "none",
};

/** Opens a store as a new process would. */
export function openOn(disk: ForgettingDisk, seed: number): Promise<Store> {
  const clock = new ManualClock();
  const ports = {
    clock,
    random: new SeededRandom(seed),
    logger: new RecordingLogger(),
    metrics: NO_METRICS,
  };
  const process = fixedProcessInfo();
  const backend = new PosixBackend({
    ...ports,
    process,
    root: "/disk/store",
    fileSystem: disk.fileSystem(),
  });
  return OpenStore.open(backend, resolveSettings(SETTINGS), ports);
}

/** One pipeline with its store open. */
export class Pipeline {
  readonly #oracle: Oracle;
  readonly store: Store;
  readonly job: Job;

  private constructor(oracle: Oracle, store: Store, job: Job) {
    this.#oracle = oracle;
    this.store = store;
    this.job = job;
  }

  static async open(disk: ForgettingDisk, oracle: Oracle, seed: number): Promise<Pipeline> {
    const store = await openOn(disk, seed);
    const job = await store.job(JOB, { takeOver: true });
    return new Pipeline(oracle, store, job);
  }

  /** Appends a change to each writer. */
  append(): void {
    for (const id of WRITERS) {
      const change = this.#oracle.newChange();
      // Told first: an append that is cut off may be there all the same.
      this.#oracle.appended(id, change);
      this.job.writer(id).append(0, encoder.encode(change));
    }
  }

  async persist(): Promise<void> {
    await Promise.all(WRITERS.map(async (id) => {
      const count = this.#oracle.count(id);
      await this.job.writer(id).persist();
      this.#oracle.acknowledged(id, count);
    }));
  }

  async checkpoint(): Promise<string> {
    const line = this.#oracle.snapshot();
    const { uuid } = await this.job.checkpoint({ states: await statesFor(this.job, line) });
    this.#oracle.checkpointed(uuid, line);
    return uuid;
  }

  /** Removes every checkpoint but the newest of the line, at once. */
  async collect(): Promise<void> {
    await this.job.setRetention({ minCount: 1 });
    const { verdicts } = await this.job.collect({ dryRun: true });
    this.#oracle.collecting(verdicts.filter(({ stays }) => !stays).map(({ uuid }) => uuid));
    const { removed } = await this.job.collect({ quarantineMs: 0 });
    this.#oracle.collected(removed);
  }

  async resume(at: "latest" | "tail" | (string & Record<never, never>)): Promise<void> {
    const target = at === "tail" ? undefined : this.#targetOf(at, await this.job.checkpoints());
    if (target !== undefined) this.#oracle.resuming(target);
    await this.job.resume({ at });
    if (target !== undefined) this.#oracle.resumed();
  }

  #targetOf(at: string, checkpoints: { uuid: string; isHead: boolean }[]): Line {
    const uuid = at === "latest" ? checkpoints.find(({ isHead }) => isHead)?.uuid : at;
    return uuid === undefined ? new Map() : this.#oracle.checkpoints.get(uuid)!;
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** Reads every writer back. */
export async function restoreAll(job: JobReader, at: string): Promise<Line> {
  const line = new Map<string, string[]>();
  const stream = job.restore({ at });
  for await (const { writer, offset, data } of stream) {
    const changes = line.get(writer) ?? [];
    line.set(writer, changes);
    assert.equal(offset, changes.length, `${writer} has a hole or a duplicate at ${at}`);
    changes.push(decoder.decode(data));
  }
  const { count } = await stream.trailer;
  assert.equal(count, [...line.values()].reduce((sum, changes) => sum + changes.length, 0));
  return line;
}

/** Opens after a crash and checks every guarantee; then goes on, and checks once more after another crash. */
export async function checkAfterCrash(
  disk: ForgettingDisk,
  oracle: Oracle,
  context: string,
): Promise<void> {
  for (const round of [1, 2]) {
    const where = `${context}, open ${round} after it`;
    const pipeline = await Pipeline.open(disk, oracle, 1000 + round);
    const tail = await restoreAll(pipeline.job, "tail");
    oracle.checkTail(tail, where);
    oracle.recovered(tail);
    const listed = new Set((await pipeline.job.checkpoints()).map(({ uuid }) => uuid));
    for (const [uuid, line] of oracle.checkpoints) {
      if (oracle.mayBeGone(uuid) && !listed.has(uuid)) continue;
      const restored = await restoreAll(pipeline.job, uuid);
      assert.deepEqual(restored, line, `${where}: checkpoint ${uuid} is not what it was`);
      await checkStates(pipeline.job, uuid, line, `${where}: states of checkpoint ${uuid}`);
    }
    const report = await pipeline.job.verify();
    assert.deepEqual(report.problems, [], where);
    pipeline.append();
    await pipeline.persist();
    await pipeline.checkpoint();
    disk.crash("power-cut");
  }
}

/** Whether an error means that the pipeline's process is dead, as planned. */
export function isCrash(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "CrashedError" || cause.message.includes("ECRASHED")) return true;
    if (cause instanceof AggregateError && cause.errors.some(isCrash)) return true;
  }
  return hasCode(error, "closed");
}

/** Appends, checkpoints, reopens, resumes: every protocol that touches the disk. */
export async function live(disk: ForgettingDisk, oracle: Oracle): Promise<void> {
  let pipeline = await Pipeline.open(disk, oracle, 1);
  pipeline.append();
  await pipeline.persist();
  pipeline.append();
  const first = await pipeline.checkpoint();
  pipeline.append();
  await pipeline.persist();
  // A second owner takes over: what the first had made durable is adopted, its last batch copied.
  pipeline = await Pipeline.open(disk, oracle, 2);
  pipeline.append();
  await pipeline.persist();
  await pipeline.checkpoint();
  pipeline.append();
  await pipeline.persist();
  await pipeline.resume("tail");
  pipeline.append();
  await pipeline.persist();
  await pipeline.resume(first);
  pipeline.append();
  await pipeline.persist();
  await pipeline.checkpoint();
  pipeline.append();
  await pipeline.persist();
  await pipeline.collect();
  pipeline.append();
  await pipeline.close();
  const reopened = await Pipeline.open(disk, oracle, 3);
  reopened.append();
  await reopened.persist();
  await reopened.close();
}
