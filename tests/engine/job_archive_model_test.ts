/** Random jobs, exported, imported elsewhere, and compared: at every checkpoint, and at the tail. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/engine/errors.ts";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { Job, Store } from "../../src/engine/types.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { filesOf, gather, inPieces } from "./_archive.ts";
import { append, bytesOf, newMemory, openEngine, restore, textOf } from "./_engine.ts";

const SEEDS = 6;
const STEPS = 20;
const WRITERS = ["a", "b", "c"];

/** A job that lives at random, and moves from store to store. */
class MovingJob {
  readonly #random: SeededRandom;
  #objects: MemoryBackend = newMemory();
  #store!: Store;
  #name = "orders";
  #job!: Job;
  #moves = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  async live(): Promise<void> {
    await this.#open();
    for (let i = 0; i < STEPS; i++) await this.#step();
    await this.#move();
    for (let i = 0; i < STEPS; i++) await this.#step();
    await this.#move();
    await this.#job.close();
    assert.equal((await (await this.#store.job(this.#name)).verify()).ok, true);
  }

  async #open(): Promise<void> {
    const settings = { changeFileBytesMax: 2000 };
    this.#store = (await openEngine(this.#objects, settings)).store;
    this.#job = await this.#store.job(this.#name);
  }

  async #step(): Promise<void> {
    const job = this.#job;
    const writer = this.#pick(WRITERS);
    switch (this.#random.below(14)) {
      case 0:
        return void await this.#checkpoint();
      case 1:
        return void await job.resume({ at: "tail" });
      case 2:
        return void await job.resume({ at: await this.#anyCheckpoint() ?? "latest" });
      case 3:
        await job.close();
        return await this.#open();
      case 4:
        return await this.#unlessGone(() => job.retireWriter(writer));
      case 5:
        return void await job.collect({ quarantineMs: 0 });
      case 6: {
        const uuid = await this.#anyCheckpoint();
        return uuid === undefined ? undefined : await job.pin(uuid);
      }
      case 7:
        return void await this.#unlessGone(async () => {
          const one = job.writer(writer);
          one.truncate(one.nextSequenceNumber());
          await this.#checkpoint();
        });
      default:
        await this.#unlessGone(async () => {
          append(job, writer, ...this.#texts());
          if (this.#random.below(2) === 0) await job.writer(writer).persist();
        });
    }
  }

  /** A writer that has ended takes nothing more. */
  async #unlessGone(action: () => unknown): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (!hasCode(error, "closed") && !hasCode(error, "writer-not-found")) throw error;
    }
  }

  async #checkpoint(): Promise<void> {
    const states = { sums: bytesOf(`sums ${this.#random.below(1000)}`) };
    await this.#job.checkpoint({ metadata: { at: this.#random.below(1000) }, states });
  }

  #texts(): string[] {
    const count = 1 + this.#random.below(3);
    return Array.from(
      { length: count },
      () => "x".repeat(this.#random.below(400)) + this.#random.below(1000),
    );
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)];
  }

  async #anyCheckpoint(): Promise<string | undefined> {
    const checkpoints = await this.#job.checkpoints();
    return checkpoints.length === 0 ? undefined : this.#pick(checkpoints).uuid;
  }

  /** Exports the job, imports it elsewhere under another name, and goes on there. */
  async #move(): Promise<void> {
    await this.#job.resume({ at: "tail" });
    const content = await contentOf(this.#job);
    const archive = await gather(this.#store.exportJob(this.#name));
    const [, ...files] = await filesOf(archive);
    const from = this.#store;
    this.#objects = newMemory();
    this.#name = `moved-${++this.#moves}`;
    this.#store = (await openEngine(this.#objects, { changeFileBytesMax: 2000 })).store;
    await this.#store.importJob(this.#name, inPieces(archive, 1 + this.#random.below(5000)));
    const [, ...again] = await filesOf(await gather(this.#store.exportJob(this.#name)));
    const others = (all: typeof files) =>
      all.filter(({ name }) => !name.startsWith("checkpoints/"));
    assert.deepEqual(others(again), others(files));
    this.#job = await this.#store.job(this.#name);
    assert.deepEqual(await contentOf(this.#job), content);
    assert.equal((await this.#job.verify({ level: "full" })).ok, true);
    await from.close();
  }
}

/** All that a job gives back. */
async function contentOf(job: Job): Promise<unknown> {
  const found: unknown[] = [];
  for (const { size: _size, ...entry } of await job.checkpoints()) {
    const { uuid: at } = entry;
    const { metadata, writers } = await job.checkpointDetails(at);
    const sums = textOf(await gather(job.readState("sums", { at })));
    found.push({ entry, metadata, writers, sums, changes: (await restore(job, { at })).changes });
  }
  const writers = (await job.writers()).map((
    { writer, nextOffset, sequenceNumber, isClosed },
  ) => ({ writer, nextOffset, sequenceNumber, isClosed }));
  return { found, writers, tail: (await restore(job, { at: "tail" })).changes, run: job.run };
}

describe("a random job that moves from store to store", () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    test(`is the same wherever it is (seed ${seed})`, () => new MovingJob(seed).live());
  }
});
