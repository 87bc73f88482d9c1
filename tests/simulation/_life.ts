/**
 * Lives through a row of steps over the real engine, one storage call of which may go wrong, and holds the engine to
 * its guarantees: what is acknowledged counts, and an owner that was overtaken acknowledges nothing.
 * Owns: what a pipeline does when a step fails. Does not own: faults (`_ground.ts`), what may be restored (`_oracle.ts`).
 * @module
 */
import assert from "node:assert/strict";
import { hasCode, TidemarkError } from "../../src/engine/errors.ts";
import { NO_METRICS } from "../../src/engine/port/metrics.ts";
import { resolveSettings } from "../../src/engine/settings.ts";
import { OpenStore } from "../../src/engine/store.ts";
import type { Job, Store } from "../../src/engine/types.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import type { Ground } from "./_ground.ts";
import { type Step, stepsOf } from "./_lives.ts";
import { type Line, Oracle } from "./_oracle.ts";
import { JOB, restoreAll, WRITERS } from "./_scenario.ts";
import { checkStates, statesFor } from "./_states.ts";

/** What a failure of storage may be told as. */
const CODES: ReadonlySet<string> = new Set([
  "storage-unavailable",
  "storage-full",
  "fenced",
  "closed",
]);

const encoder = new TextEncoder();

/** Small files, so that few changes fill several; nothing waits for time that nobody moves on. */
const SETTINGS = resolveSettings({
  changeFileBytesMax: 2048,
  persistDelayMs: 0,
  uploadRetryPolicy: "none",
  reserveBytes: 4096,
});

interface Process {
  readonly store: Store;
  job: Job;
}

/** Opens a store the way a new process does. */
export async function openStoreOn(ground: Ground): Promise<OpenStore> {
  const ports = {
    clock: new ManualClock(),
    random: new SeededRandom(ground.callCount + 1),
    logger: new RecordingLogger(),
    metrics: NO_METRICS,
  };
  return await OpenStore.open(ground.backend(ports), SETTINGS, ports);
}

/** One life. */
export class Life {
  readonly oracle = new Oracle();
  /** Which verb each storage call, from the first, belongs to. */
  readonly verbs: string[] = [];
  readonly #ground: Ground;
  readonly #processes = new Map<string, Process>();
  readonly #uuids = new Map<string, string>();
  /** The owner whose open was answered last: every other is overtaken. */
  #current = "";
  #isOver = false;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** @throws {Error} A guarantee does not hold. */
  async live(life: string): Promise<void> {
    for (const step of stepsOf(life)) {
      if (this.#isOver || this.#ground.isDown) return;
      try {
        await this.#take(step);
      } finally {
        while (this.verbs.length < this.#ground.callCount) this.verbs.push(step.verb);
      }
    }
  }

  async #take(step: Step): Promise<void> {
    if (step.verb === "open") return await this.#open(step.owner);
    const process = this.#processes.get(step.owner);
    if (process === undefined) return;
    const isOvertaken = step.owner !== this.#current;
    try {
      await this.#do(process, step, isOvertaken);
    } catch (error) {
      this.#checkAllowed(error, isOvertaken);
      if (this.#ground.isDown || isOvertaken) return;
      await this.#reopenIfOver(step.owner, process);
      return;
    }
    const acknowledges = ["persist", "checkpoint", "snapshot", "resume"].includes(step.verb);
    assert.ok(!isOvertaken || !acknowledges, `an overtaken owner answered to ${step.verb}`);
  }

  async #do(process: Process, { verb, label }: Step, isOvertaken: boolean): Promise<unknown> {
    const { job, store } = process;
    const at = label === "latest" || label === "tail" ? label : this.#uuids.get(label);
    const needsCheckpoint = ["pin", "unpin", "resume", "restore"].includes(verb);
    // A checkpoint that a fault kept from being made, or from being pinned, is not there to be named.
    if (needsCheckpoint && (at === undefined || this.#isGone(at))) return;
    switch (verb) {
      case "append":
        return this.#append(job, isOvertaken);
      case "persist":
        return await this.#persist(job, isOvertaken);
      case "checkpoint":
        return await this.#checkpoint(job, label, isOvertaken);
      case "snapshot":
        return await this.#checkpoint(job, label, isOvertaken, { hasStates: true });
      case "resume":
        return await this.#resume(job, at!);
      case "pin":
        return await job.pin(at!, "by the life");
      case "unpin":
        return await job.unpin(at!);
      case "retain":
        return await job.setRetention({ minCount: 1 });
      case "collect":
        return await this.#collect(job);
      case "verify":
        return assert.deepEqual((await job.verify()).problems, []);
      case "usage":
        return await job.usage();
      case "restore":
        return await this.#restore(job, at!);
      case "close":
        return await this.#close(store);
    }
    throw new TypeError(`There is no step ${verb}`);
  }

  #isGone(at: string): boolean {
    return at !== "tail" && at !== "latest" &&
      (!this.oracle.checkpoints.has(at) || this.oracle.mayBeGone(at));
  }

  #append(job: Job, isOvertaken: boolean): void {
    for (const id of WRITERS) {
      const change = this.oracle.newChange();
      job.writer(id).append(0, encoder.encode(change));
      if (!isOvertaken) this.oracle.appended(id, change);
    }
  }

  async #persist(job: Job, isOvertaken: boolean): Promise<void> {
    const results = await Promise.allSettled(WRITERS.map(async (id) => {
      const count = this.oracle.count(id);
      await job.writer(id).persist();
      if (!isOvertaken) this.oracle.acknowledged(id, count);
    }));
    const failed = results.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  async #checkpoint(
    job: Job,
    label: string,
    isOvertaken: boolean,
    { hasStates = false } = {},
  ): Promise<void> {
    const line = this.oracle.snapshot();
    try {
      const states = hasStates ? await statesFor(job, line) : undefined;
      const { uuid } = await job.checkpoint({ states });
      this.#uuids.set(label, uuid);
      if (!isOvertaken) this.oracle.checkpointed(uuid, line);
    } catch (error) {
      if (!isOvertaken) this.oracle.unanswered(line);
      throw error;
    }
  }

  async #resume(job: Job, at: string): Promise<void> {
    const target = await this.#targetOf(job, at);
    if (target !== undefined) this.oracle.resuming(target);
    await job.resume({ at });
    if (target !== undefined) this.oracle.resumed();
  }

  async #targetOf(job: Job, at: string): Promise<Line | undefined> {
    if (at === "tail") return undefined;
    const head = (await job.checkpoints()).find(({ isHead }) => isHead)?.uuid;
    const uuid = at === "latest" ? head : at;
    if (uuid === undefined) return new Map();
    if (!this.oracle.checkpoints.has(uuid)) {
      this.oracle.found(uuid, await restoreAll(job, uuid), "resume");
    }
    return this.oracle.checkpoints.get(uuid)!;
  }

  async #collect(job: Job): Promise<void> {
    const { verdicts } = await job.collect({ dryRun: true });
    this.oracle.collecting(verdicts.filter(({ stays }) => !stays).map(({ uuid }) => uuid));
    const { removed } = await job.collect({ quarantineMs: 0 });
    this.oracle.collected([...removed, ...this.oracle.missing(await job.checkpoints())]);
  }

  async #restore(job: Job, at: string): Promise<void> {
    const restored = await restoreAll(job, at);
    if (at === "tail") return this.oracle.checkTail(restored, "restore");
    assert.deepEqual(restored, this.oracle.checkpoints.get(at), `restore of ${at}`);
    await checkStates(job, at, restored, `states of ${at}`);
  }

  async #close(store: Store): Promise<void> {
    const counts = WRITERS.map((id) => [id, this.oracle.count(id)] as const);
    for (const [owner, process] of this.#processes) {
      if (process.store === store) this.#processes.delete(owner);
    }
    await store.close();
    for (const [id, count] of counts) this.oracle.acknowledged(id, count);
  }

  /** Opens as a new process; tries once more, as an operator would, before the life is over. */
  async #open(owner: "A" | "B"): Promise<void> {
    this.#processes.delete(owner);
    for (let attempt = 1; attempt <= 2 && !this.#ground.isDown; attempt++) {
      try {
        const store = await openStoreOn(this.#ground);
        return await this.#takeOver(owner, store);
      } catch (error) {
        this.#checkAllowed(error, false);
      }
    }
    this.#isOver = true;
  }

  async #takeOver(owner: "A" | "B", store: Store): Promise<void> {
    const job = await store.job(JOB, { takeOver: true });
    this.#current = owner;
    this.#processes.set(owner, { store, job });
    const tail = await restoreAll(job, "tail").catch((error) => {
      this.#checkAllowed(error, false);
      return restoreAll(job, "tail");
    });
    this.oracle.checkTail(tail, `${owner} opens`);
    this.oracle.recovered(tail);
  }

  /** A job that a fault has ended is opened again in its process. */
  async #reopenIfOver(owner: "A" | "B", process: Process): Promise<void> {
    if (!this.#processes.has(owner)) return;
    try {
      process.job.writer(WRITERS[0]);
      return;
    } catch (error) {
      this.#checkAllowed(error, false);
    }
    try {
      await this.#takeOver(owner, process.store);
    } catch (error) {
      this.#checkAllowed(error, false);
      this.#isOver = true;
    }
  }

  #checkAllowed(error: unknown, isOvertaken: boolean): void {
    if (error instanceof AggregateError) {
      for (const one of error.errors) this.#checkAllowed(one, isOvertaken);
      return;
    }
    const isExpected = error instanceof TidemarkError && CODES.has(error.code) &&
      (this.#ground.hasStruck || (isOvertaken && hasCode(error, "fenced")));
    if (!isExpected) throw error;
  }
}
