/** Random lives of a job, with failures, held against a plain model. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TidemarkError } from "../../src/engine/errors.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import type { StoreSettings } from "../../src/engine/settings.ts";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { Change, JobReader, Writer } from "../../src/engine/types.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  bytesOf,
  CHANGE_FILE,
  GENERATION,
  JOB,
  type JobEngine,
  MANIFEST,
  newMemory,
  openEngine,
  openJobOn,
  textOf,
  turn,
} from "./_engine.ts";
import { JobModel, type Lines } from "./_job_model.ts";

const SEEDS = 60;
const STEPS = 50;
const WRITERS = ["a", "b", "c"];

/** Codes that a failure of the disk, planned or in its wake, may give. */
const FAILURES: ReadonlySet<string> = new Set(["storage-unavailable", "closed"]);

class RandomLife {
  readonly #random: SeededRandom;
  readonly #settings: Partial<StoreSettings>;
  readonly #objects: MemoryBackend = newMemory();
  readonly #model = new JobModel();
  #engine!: JobEngine;
  #count = 0;
  #step = "open";

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#settings = {
      changeFileBytesMax: this.#random.pick([1, 700, 3000, 100_000]),
      preemptivePersistBytes: this.#random.pick([30, 300, 3000]),
      persistSizeThresholdBytes: this.#random.pick([1, 200, 3000]),
      inFlightBytesMax: this.#random.pick([3000, 10_000]),
      compression: this.#random.pick(["lz4", "none"]),
      blockBytes: 65536,
    };
  }

  /** @throws {Error} Says at which step what went wrong. */
  async live(): Promise<void> {
    let at = 0;
    try {
      this.#engine = await openJobOn(this.#objects, this.#settings);
      for (; at < STEPS; at++) await this.#takeStep();
      this.#engine.backend.mend();
      await this.#reopen();
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`step ${at} (${this.#step}): ${message}`, { cause: error });
    }
  }

  async #takeStep(): Promise<void> {
    const steps = {
      append: 30,
      appendAt: 10,
      persist: 12,
      rollOver: 5,
      checkpoint: 8,
      fail: 8,
      resume: 3,
      reopen: 3,
      takeOver: 3,
      check: 4,
      pause: 4,
    };
    let at = this.#random.below(Object.values(steps).reduce((sum, weight) => sum + weight));
    for (const [step, weight] of Object.entries(steps)) {
      this.#step = step;
      if ((at -= weight) < 0) break;
    }
    await this[`_${this.#step as keyof typeof steps}`]();
    if (!this.#isRunning()) await this.#reopen();
  }

  #isRunning(): boolean {
    try {
      this.#engine.job.writer(WRITERS[0]);
      return true;
    } catch {
      // A job that is over says so with its first call.
      return false;
    }
  }

  /** Whether an action succeeded; it may fail only the way that a disk does. */
  async #may<Result>(action: () => Promise<Result> | Result): Promise<Result | undefined> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof AggregateError) return undefined;
      assert.ok(error instanceof TidemarkError, String((error as Error).stack));
      assert.ok(FAILURES.has(error.code), `${error.code}: ${error.message}`);
      return undefined;
    }
  }

  #newChanges(): Change[] {
    return Array.from({ length: 1 + this.#random.below(4) }, () => {
      const text = `${this.#count++}${"x".repeat(this.#random.below(60))}`;
      return { keyGroup: this.#random.below(6) - 1, data: bytesOf(text) };
    });
  }

  #writer(): Writer {
    return this.#engine.job.writer(this.#random.pick(WRITERS));
  }

  _append(): void {
    const writer = this.#writer();
    const changes = this.#newChanges();
    const before = writer.nextOffset;
    assert.equal(before, this.#model.line(writer.id).length);
    try {
      if (this.#random.chance(0.3)) {
        assert.equal(writer.appendEncoded(encodeChanges(changes)), before);
        this.#model.append(writer.id, changes.map(show));
      } else {
        for (const change of changes) {
          writer.append(change.keyGroup, change.data);
          this.#model.append(writer.id, [show(change)]);
        }
      }
    } catch (error) {
      assert.ok(error instanceof TidemarkError && error.code === "backpressure", String(error));
    }
    assert.equal(writer.nextOffset, this.#model.line(writer.id).length);
  }

  async _appendAt(): Promise<void> {
    const writer = this.#writer();
    const { run } = this.#engine.job;
    const line = this.#model.line(writer.id);
    const offset = this.#random.below(line.length + 1);
    const end = Math.min(line.length, offset + 1 + this.#random.below(4));
    const isRepeated = offset < end;
    const changes = isRepeated ? line.slice(offset, end).map(parse) : this.#newChanges();
    const ack = this.#random.pick(["durable", "buffered"] as const);
    let isAppended = false;
    const result = await this.#may(async () => {
      try {
        const appended = writer.appendAt(offset, encodeChanges(changes), { ack, run });
        isAppended = writer.nextOffset > line.length;
        if (isAppended) this.#model.append(writer.id, changes.map(show));
        return await appended;
      } catch (error) {
        if (error instanceof TidemarkError && error.code === "backpressure") return undefined;
        throw error;
      }
    });
    assert.equal(isAppended && isRepeated, false, "a repeated append was taken twice");
    if (result === undefined) return;
    assert.deepEqual([result.offset, result.nextOffset], [offset, offset + changes.length]);
    if (ack === "durable") this.#model.acknowledge(writer.id, result.nextOffset);
  }

  async _persist(): Promise<void> {
    const writer = this.#writer();
    const count = writer.nextOffset;
    const result = await this.#may(() => writer.persist());
    if (result === undefined) return;
    assert.ok(result.durableOffset >= count);
    this.#model.acknowledge(writer.id, count);
  }

  _rollOver(): void {
    const writer = this.#writer();
    const number = writer.nextSequenceNumber();
    assert.equal(writer.nextSequenceNumber(), number);
  }

  async _checkpoint(): Promise<void> {
    const lines = this.#model.snapshot();
    const made = await this.#may(() => this.#engine.job.checkpoint());
    if (made === undefined) this.#model.unanswered(lines);
    else this.#model.checkpointed(made.uuid, lines);
    await this.#findCheckpoints();
  }

  _fail(): void {
    const kind = this.#random.pick(
      ["write", "sync", "createAppender", "putIfAbsent", "get"] as const,
    );
    const ofFacts = this.#random.pick([GENERATION, MANIFEST, /\/(?:owners|adopted)\//]);
    const key = kind === "putIfAbsent" ? ofFacts : CHANGE_FILE;
    const when = kind === "write"
      ? this.#random.pick(["before", "cut"] as const)
      : this.#random.pick(["before", "after"] as const);
    const times = 1 + this.#random.below(3);
    this.#engine.backend.fail({ kind, key, when, times, skip: this.#random.below(3) });
  }

  async _resume(): Promise<void> {
    const { job } = this.#engine;
    const uuids = [...this.#model.checkpoints.keys()];
    const at = this.#random.pick(["latest", "tail", ...uuids]);
    if (at === "tail") {
      const lines = this.#model.snapshot();
      const resumed = await this.#may(() => job.resume({ at }));
      if (resumed !== undefined) this.#model.standAt(lines);
      return;
    }
    const head = (await job.checkpoints()).find(({ isHead }) => isHead)?.uuid;
    const uuid = at === "latest" ? head : at;
    const lines = uuid === undefined ? new Map() : this.#model.checkpoints.get(uuid)!;
    const resumed = await this.#may(() => job.resume({ at }));
    if (resumed === undefined) {
      this.#model.mayStandAt(lines);
      return;
    }
    assert.equal(resumed.checkpoint?.uuid, uuid);
    for (const { writer, nextOffset } of resumed.writers) {
      assert.equal(nextOffset, lines.get(writer)?.length ?? 0);
    }
    this.#model.standAt(lines);
  }

  /** Closes and opens again. */
  async _reopen(): Promise<void> {
    const lines = this.#model.snapshot();
    let isClosed = true;
    await this.#may(() =>
      this.#engine.store.close().catch((error) => {
        isClosed = false;
        throw error;
      })
    );
    if (isClosed) {
      for (const [writer, line] of lines) {
        this.#model.acknowledge(writer, line.length);
      }
    }
    await this.#reopen();
  }

  /** Another process takes the job over, and whatever this one still does is too late. */
  async _takeOver(): Promise<void> {
    await this.#reopen();
  }

  async #reopen(): Promise<void> {
    this.#engine = await openJobOn(this.#objects, this.#settings);
    this.#model.recover(await readAll(this.#engine.job, "tail"));
    await this.#findCheckpoints();
    await this._check();
  }

  async #findCheckpoints(): Promise<void> {
    for (const { uuid } of await this.#engine.job.checkpoints()) {
      if (this.#model.checkpoints.has(uuid)) continue;
      const lines = await this.#may(() => readAll(this.#engine.job, uuid));
      if (lines !== undefined) this.#model.found(uuid, lines);
    }
  }

  /** Everything that can be read is what it should be, for the owner and for a reader beside it. */
  async _check(): Promise<void> {
    const { job, backend } = this.#engine;
    backend.mend();
    for (const [uuid, lines] of this.#model.checkpoints) {
      assert.deepEqual(withoutEmpty(await readAll(job, uuid)), withoutEmpty(lines));
    }
    const durable = await readAll(job, "tail");
    this.#model.check(durable);
    for (const { writer, durableOffset } of await job.writers()) {
      assert.ok((durable.get(writer)?.length ?? 0) <= durableOffset);
    }
    const { store } = await openEngine(this.#objects, { mode: "read" });
    this.#model.check(await readAll(await store.reader(JOB), "tail"));
    assert.deepEqual((await job.verify()).problems, []);
  }

  async _pause(): Promise<void> {
    await turn();
  }
}

function show({ keyGroup, data }: Change): string {
  return `${keyGroup}:${textOf(data)}`;
}

function parse(text: string): Change {
  const at = text.indexOf(":");
  return { keyGroup: Number(text.slice(0, at)), data: bytesOf(text.slice(at + 1)) };
}

function withoutEmpty(lines: Lines): Lines {
  return new Map(
    [...lines].filter(([, line]) => line.length > 0).sort(([a], [b]) => a < b ? -1 : 1),
  );
}

/** Reads every writer back, with no hole and no duplicate. */
async function readAll(job: JobReader, at: string): Promise<Lines> {
  const lines = new Map<string, string[]>();
  const stream = job.restore({ at });
  for await (const { writer, offset, ...change } of stream) {
    const line = lines.get(writer) ?? [];
    lines.set(writer, line);
    assert.equal(offset, line.length, `writer ${writer} at ${at}`);
    line.push(show(change));
  }
  const { count } = await stream.trailer;
  assert.equal(count, [...lines.values()].reduce((sum, line) => sum + line.length, 0));
  return lines;
}

describe("a job", () => {
  for (let from = 1; from <= SEEDS; from += 10) {
    test(`does what its model does, whatever fails (seeds ${from} to ${from + 9})`, async () => {
      for (let seed = from; seed < from + 10; seed++) {
        await new RandomLife(seed).live().catch((error) => {
          throw new Error(`seed ${seed}, ${error.message}`, { cause: error.cause });
        });
      }
    });
  }
});
