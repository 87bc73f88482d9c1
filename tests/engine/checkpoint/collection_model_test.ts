/** Random lives of a job's checkpoints: branches, shared files, pins, collections, failures and crashes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../../src/engine/errors.ts";
import type { StoreSettings } from "../../../src/engine/settings.ts";
import type { JobReader, StateSource } from "../../../src/engine/types.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { leaksIn } from "../../simulation/leaks.ts";
import {
  append,
  bytesOf,
  CHANGE_FILE,
  GENERATION,
  JOB,
  type JobEngine,
  keysBelow,
  MANIFEST,
  newMemory,
  openJobOn,
  textOf,
} from "../_engine.ts";
import { CollectionModel, type Span, type Spans, type States } from "./_collection_model.ts";
import { STATE, stateOf } from "../_states.ts";
import { recount } from "./_recount.ts";

const SEEDS = 120;
const STEPS = 60;
const WRITERS = ["a", "b", "c"];
const STATES = ["x", "y", "z"];
const STEP_WEIGHTS = {
  append: 20,
  persist: 8,
  checkpoint: 14,
  resume: 6,
  pin: 4,
  retain: 2,
  collect: 10,
  truncate: 4,
  retire: 3,
  fail: 7,
  reopen: 3,
  takeOver: 4,
  sweep: 5,
};
type StepName = keyof typeof STEP_WEIGHTS;

/** Codes that a failure of the disk, planned or in its wake, may give. */
const FAILURES: ReadonlySet<string> = new Set(["storage-unavailable", "closed"]);

class RandomLife {
  readonly #random: SeededRandom;
  readonly #settings: Partial<StoreSettings>;
  readonly #objects = newMemory();
  readonly #model = new CollectionModel();
  #engine!: JobEngine;
  /** Per writer, sequence numbers that this run gave, with their offsets. */
  #marks = new Map<string, readonly [sequenceNumber: number, offset: number]>();
  #changes = 0;
  readonly done: Record<string, number> = {};

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#settings = { changeFileBytesMax: this.#random.pick([1, 700, 3000, 100_000]) };
  }

  /** @throws {Error} Says at which step what went wrong. */
  async live(): Promise<void> {
    this.#engine = await openJobOn(this.#objects, this.#settings);
    for (let at = 0; at < STEPS; at++) {
      const step = this.#chooseStep();
      try {
        if (await this.#take(step)) this.done[step] = (this.done[step] ?? 0) + 1;
        if (!this.#isRunning()) await this.#reopen();
      } catch (error) {
        throw new Error(`step ${at} (${step}): ${(error as Error).message}`, { cause: error });
      }
    }
    await this.#reopen();
    assert.ok(await this.#sweep(), "the last sweep fails");
  }

  #chooseStep(): StepName {
    const weights = Object.entries(STEP_WEIGHTS) as [StepName, number][];
    let at = this.#random.below(weights.reduce((sum, [, weight]) => sum + weight, 0));
    return weights.find(([, weight]) => (at -= weight) < 0)![0];
  }

  #take(step: StepName): Promise<boolean> {
    switch (step) {
      case "append":
        return this.#append();
      case "persist":
        return this.#persist();
      case "checkpoint":
        return this.#checkpoint();
      case "resume":
        return this.#resume();
      case "pin":
        return this.#pin();
      case "retain":
        return this.#retain();
      case "collect":
        return this.#collect();
      case "truncate":
        return this.#truncate();
      case "retire":
        return this.#retire();
      case "fail":
        return this.#fail();
      case "reopen":
        return this.#close();
      case "takeOver":
        return this.#reopen();
      case "sweep":
        return this.#sweep();
    }
  }

  #isRunning(): boolean {
    try {
      this.#engine.job.writer("probe");
      return true;
    } catch {
      // A job that is over says so with its first call.
      return false;
    }
  }

  /** Whether an action succeeded; it may fail only the way that a disk does. */
  async #may(action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      const errors = error instanceof AggregateError ? error.errors : [error];
      for (const one of errors) {
        const isFailure = one instanceof TidemarkError && FAILURES.has(one.code);
        if (!isFailure) throw one;
      }
      return false;
    }
  }

  /** Writers that take changes. */
  #open(): string[] {
    return WRITERS.filter((id) => this.#isFree(id) && this.#model.writer(id).ends === "no");
  }

  /** Whether a name may be used again: of a writer that an older owner ended at once, else with the next run. */
  #isFree(id: string): boolean {
    if (!this.#model.left.has(id)) return true;
    try {
      this.#engine.job.writer(id);
      return this.#model.left.delete(id);
    } catch (error) {
      assert.ok(error instanceof TidemarkError && error.code === "closed", String(error));
      return false;
    }
  }

  #retire(): Promise<boolean> {
    const open = this.#open();
    if (open.length === 0) return Promise.resolve(false);
    const id = this.#random.pick(open);
    this.#engine.job.writer(id);
    this.#engine.job.retireWriter(id);
    this.#model.writer(id).ends = "next";
    return Promise.resolve(true);
  }

  #append(): Promise<boolean> {
    for (const id of this.#open()) {
      for (let count = this.#random.below(4); count > 0; count--) {
        const change = `${this.#changes++}${"x".repeat(this.#random.below(60))}`;
        append(this.#engine.job, id, change);
        this.#model.writer(id).line.push(change);
      }
    }
    return Promise.resolve(true);
  }

  async #persist(): Promise<boolean> {
    const open = this.#open();
    if (open.length === 0) return false;
    const id = this.#random.pick(open);
    const writer = this.#model.writer(id);
    const count = writer.line.length;
    const isDone = await this.#may(() => this.#engine.job.writer(id).persist());
    if (isDone) writer.acknowledged = Math.max(writer.acknowledged, count);
    return isDone;
  }

  async #checkpoint(): Promise<boolean> {
    const at = this.#model.snapshot();
    const { states, make } = this.#chooseStates();
    const isDone = await this.#may(async () => {
      const { uuid } = await this.#engine.job.checkpoint({ states: await make() });
      this.#model.checkpointed(uuid, at, states);
    });
    if (isDone) return true;
    this.#model.unanswered(at, states);
    // Whether it is published, the next open says.
    await this.#reopen();
    return false;
  }

  /** States that are new, written ahead, or of any other checkpoint, on whatever line. */
  #chooseStates(): { states: States; make: () => Promise<Record<string, StateSource>> } {
    const { job } = this.#engine;
    const chosen: [name: string, content: string, source: () => Promise<StateSource>][] = [];
    for (const name of STATES.filter(() => this.#random.chance(0.5))) {
      const others = this.#model.uuids.filter((uuid) => name in this.#model.statesOf(uuid));
      if (others.length > 0 && this.#random.chance(0.6)) {
        const from = this.#random.pick(others);
        chosen.push([name, this.#model.statesOf(from)[name], () => Promise.resolve({ from })]);
        continue;
      }
      const content = `${name} ${this.#changes++}`;
      const isAhead = this.#random.chance(0.3);
      chosen.push([name, content, async () => {
        if (!isAhead) return bytesOf(content);
        return { written: (await job.writeState(name, bytesOf(content))).uuid };
      }]);
    }
    return {
      states: Object.fromEntries(chosen.map(([name, content]) => [name, content])),
      make: async () => {
        const sources: Record<string, StateSource> = {};
        for (const [name, , source] of chosen) sources[name] = await source();
        return sources;
      },
    };
  }

  async #resume(): Promise<boolean> {
    const { job } = this.#engine;
    const to = this.#random.pick(["tail", this.#model.head, ...this.#model.uuids]);
    if (to === "tail") {
      // What was truncated and is in no checkpoint is not, from then on.
      const isDone = await this.#may(() => job.resume({ at: "tail" }));
      return isDone && await this.#reopen();
    }
    this.#model.resuming(to);
    const isDone = await this.#may(() => job.resume({ at: to ?? "latest" }));
    if (!isDone) return !await this.#reopen();
    this.#model.resumed(to);
    this.#marks.clear();
    return true;
  }

  async #pin(): Promise<boolean> {
    const { uuids } = this.#model;
    if (uuids.length === 0) return false;
    const uuid = this.#random.pick(uuids);
    const isPinned = this.#random.chance(0.6);
    const { job } = this.#engine;
    const isDone = await this.#may(() => isPinned ? job.pin(uuid) : job.unpin(uuid));
    if (isDone) this.#model.pinned(uuid, isPinned);
    else await this.#reopen();
    return isDone;
  }

  async #retain(): Promise<boolean> {
    const minCount = 1 + this.#random.below(3);
    const isDone = await this.#may(() => this.#engine.job.setRetention({ minCount }));
    if (isDone) this.#model.minCount = minCount;
    else await this.#reopen();
    return isDone;
  }

  async #collect(): Promise<boolean> {
    const except = new Set(this.#model.uuids.filter(() => this.#random.chance(0.2)));
    const wanted = this.#model.going(except);
    this.#model.collecting(wanted);
    const isDone = await this.#may(async () => {
      const { removed } = await this.#engine.job.collect({ except, quarantineMs: 0 });
      assert.deepEqual([...removed].sort(), wanted.sort(), "other checkpoints go than should");
      this.#model.removed(removed);
    });
    if (isDone) await this.#checkAll();
    else await this.#reopen();
    return isDone;
  }

  #truncate(): Promise<boolean> {
    const open = this.#open();
    if (open.length === 0) return Promise.resolve(false);
    const id = this.#random.pick(open);
    const writer = this.#engine.job.writer(id);
    const here = [writer.nextSequenceNumber(), writer.nextOffset] as const;
    const [to, offset] = this.#marks.get(id) ?? here;
    this.#marks.set(id, here);
    writer.truncate(to);
    const { wantedBase } = this.#model.writer(id);
    this.#model.writer(id).wantedBase = Math.max(wantedBase, offset);
    return Promise.resolve(true);
  }

  #fail(): Promise<boolean> {
    const kind = this.#random.pick(
      ["write", "sync", "createAppender", "putIfAbsent", "get", "delete", "list"] as const,
    );
    const ofFacts = this.#random.pick([GENERATION, MANIFEST, /\/(?:owners|adopted)\//]);
    const key = kind === "putIfAbsent"
      ? ofFacts
      : ["delete", "list"].includes(kind)
      ? /./
      : this.#random.pick([CHANGE_FILE, STATE]);
    const when = this.#random.pick(["before", kind === "write" ? "cut" : "after"] as const);
    const times = 1 + this.#random.below(3);
    this.#engine.backend.fail({ kind, key, when, times, skip: this.#random.below(3) });
    return Promise.resolve(true);
  }

  async #close(): Promise<boolean> {
    const ends = WRITERS.map((id) => [id, this.#model.writer(id).line.length] as const);
    const isDone = await this.#may(() => this.#engine.store.close());
    if (isDone) { for (const [id, end] of ends) this.#model.writer(id).acknowledged = end; }
    await this.#reopen();
    return isDone;
  }

  /** A new process takes the job over, and whatever the one before still does is too late. */
  async #reopen(): Promise<boolean> {
    this.#engine = await openJobOn(this.#objects, this.#settings);
    this.#marks.clear();
    const { job } = this.#engine;
    const checkpoints = await job.checkpoints();
    this.#model.checkListed(checkpoints.map(({ uuid }) => uuid));
    for (const { uuid, parent, pin } of checkpoints) {
      if (!this.#model.uuids.includes(uuid)) {
        const states = await readStates(job, uuid);
        this.#model.found(uuid, await readAll(job, uuid), states, parent ?? null);
      }
      this.#model.pinned(uuid, pin !== undefined);
    }
    this.#model.minCount = job.retention.minCount;
    const head = checkpoints.find(({ isHead }) => isHead)?.uuid ?? null;
    this.#model.recovered(head, await readAll(job, "tail"));
    await this.#checkAll();
    return true;
  }

  async #checkAll(): Promise<void> {
    const { job, backend } = this.#engine;
    backend.mend();
    const listed = (await job.checkpoints()).map(({ uuid }) => uuid);
    assert.deepEqual([...listed].sort(), this.#model.uuids.sort());
    for (const uuid of listed) {
      assert.deepEqual(await readAll(job, uuid), this.#model.contentOf(uuid), `checkpoint ${uuid}`);
      assert.deepEqual(await readStates(job, uuid), this.#model.statesOf(uuid), `of ${uuid}`);
    }
  }

  /** After a checkpoint and a collection, everything is needed, and counted. */
  async #sweep(): Promise<boolean> {
    this.#engine.backend.mend();
    if (!await this.#checkpoint() || !await this.#collect()) return false;
    const { job } = this.#engine;
    const objects = new Map<string, Uint8Array>();
    for (const key of await keysBelow(this.#objects)) {
      objects.set(key, await this.#objects.get(key));
    }
    assert.deepEqual(leaksIn(objects), [], "nothing needs these");
    assert.deepEqual(await job.usage(), recount(objects, JOB, await job.checkpoints()));
    assert.deepEqual((await job.verify()).problems, []);
    return true;
  }
}

/** Reads every state of a checkpoint. */
async function readStates(job: JobReader, at: string): Promise<States> {
  const states: Record<string, string> = {};
  for (const { name } of (await job.checkpointDetails(at)).states) {
    states[name] = await stateOf(job, name, { at });
  }
  return states;
}

/** Reads every writer back, with no hole and no duplicate. */
async function readAll(job: JobReader, at: string): Promise<Spans> {
  const spans: Record<string, Span & { readonly changes: string[] }> = {};
  for await (const { writer, offset, data } of job.restore({ at })) {
    const { from, changes } = spans[writer] ??= { from: offset, changes: [] };
    assert.equal(offset, from + changes.length, `writer ${writer} at ${at}`);
    changes.push(textOf(data));
  }
  return spans;
}

describe("checkpoints, resumes and collections", () => {
  for (let from = 1; from <= SEEDS; from += 20) {
    test(`do what their model does, whatever fails (seeds ${from} to ${from + 19})`, async () => {
      const done: Record<string, number> = {};
      for (let seed = from; seed < from + 20; seed++) {
        const life = new RandomLife(seed);
        await life.live().catch((error) => {
          throw new Error(`seed ${seed}, ${error.message}`, { cause: error.cause });
        });
        for (const [step, count] of Object.entries(life.done)) {
          done[step] = (done[step] ?? 0) + count;
        }
      }
      for (const step of Object.keys(STEP_WEIGHTS)) {
        assert.ok(done[step] > 5, `seeds from ${from}: ${step} succeeded ${done[step]} times`);
      }
    });
  }
});
