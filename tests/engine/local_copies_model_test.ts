/** Random lives of a job whose local disk fails, rots and forgets: nothing of it is ever seen in what comes back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoreSettings } from "../../src/engine/settings.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { append, changeFiles, flip, restore, rewrite, turn } from "./_engine.ts";
import { type LocalEngine, newPlaces, openLocalJob } from "./_local_engine.ts";

const SEEDS = 25;
const STEPS = 40;
const WRITERS = ["v", "w"];

type Lines = Record<string, string[]>;

class RandomLife {
  readonly #random: SeededRandom;
  readonly #places = newPlaces();
  readonly #settings: Partial<StoreSettings>;
  #engine!: LocalEngine;
  /** What was appended, and what of it a truncation has left. */
  #tail: Lines = {};
  #checkpoint: Lines = {};
  #count = 0;
  #step = "open";

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#settings = {
      changeFileBytesMax: this.#random.pick([1, 700, 5000]),
      compression: this.#random.pick(["lz4", "none"]),
    };
  }

  async live(): Promise<void> {
    let at = 0;
    try {
      await this.#open();
      for (; at < STEPS; at++) await this.#takeStep();
      await this.#engine.store.close();
      await this.#open();
      await this.#check();
    } catch (error) {
      throw new Error(`seed ${this.#random.seed}, step ${at}: ${this.#step}`, { cause: error });
    }
  }

  async #takeStep(): Promise<void> {
    const [step, action] = this.#random.pick(
      [
        ["append", () => this.#append()],
        ["append", () => this.#append()],
        ["persist", () => this.#persist()],
        ["persist", () => this.#persist()],
        ["checkpoint", () => this.#makeCheckpoint()],
        ["truncate", () => this.#truncate()],
        ["resume", () => this.#resume()],
        ["reopen", () => this.#reopen()],
        ["rot", () => this.#rot()],
        ["rot", () => this.#rot()],
        ["restore", () => this.#check()],
      ] satisfies [string, () => Promise<void>][],
    );
    this.#step = step;
    await action();
  }

  async #open(): Promise<void> {
    this.#engine = await openLocalJob(this.#places, this.#settings);
    // Any call may fail, before or after it takes effect.
    this.#engine.local.decide = () =>
      this.#random.chance(0.1) ? { when: this.#random.pick(["before", "after"]) } : undefined;
  }

  #append(): Promise<void> {
    const writer = this.#random.pick(WRITERS);
    const text = `${this.#count++} `.repeat(1 + this.#random.below(200));
    (this.#tail[writer] ??= []).push(text);
    append(this.#engine.job, writer, text);
    return Promise.resolve();
  }

  async #persist(): Promise<void> {
    const { isLocal, segments } = await this.#engine.job.writer(this.#random.pick(WRITERS))
      .persist();
    assert.equal(
      isLocal,
      segments.length > 0 && segments.every(({ localKey }) => localKey !== undefined),
    );
  }

  async #makeCheckpoint(): Promise<void> {
    await this.#engine.job.checkpoint();
    this.#checkpoint = structuredClone(this.#tail);
  }

  async #truncate(): Promise<void> {
    const id = this.#random.pick(WRITERS);
    const writer = this.#engine.job.writer(id);
    writer.truncate(writer.nextSequenceNumber());
    if (id in this.#tail) this.#tail[id] = [];
    await this.#makeCheckpoint();
  }

  async #resume(): Promise<void> {
    const at = this.#random.pick(["tail", "latest"]);
    await this.#engine.job.resume({ at });
    if (at === "latest") this.#tail = structuredClone(this.#checkpoint);
  }

  async #reopen(): Promise<void> {
    for (const id of WRITERS) await this.#engine.job.writer(id).persist();
    if (this.#random.chance(0.5)) await this.#engine.store.close();
    await this.#open();
  }

  /** Spoils, cuts or removes some copy. */
  async #rot(): Promise<void> {
    const keys = await changeFiles(this.#places.local);
    if (keys.length === 0) return;
    const key = this.#random.pick(keys);
    const { size } = (await this.#places.local.head(key))!;
    if (size === 0 || this.#random.chance(0.2)) {
      await this.#places.local.delete(key);
    } else if (this.#random.chance(0.3)) {
      await rewrite(this.#places.local, key, (bytes) => bytes.slice(0, this.#random.below(size)));
    } else {
      await rewrite(this.#places.local, key, flip(this.#random.below(size)));
    }
  }

  async #check(): Promise<void> {
    for (const id of WRITERS) await this.#engine.job.writer(id).persist();
    await turn();
    const { changes } = await restore(this.#engine.job, { at: "tail" });
    for (const id of WRITERS) assert.deepEqual(changes[id] ?? [], this.#tail[id] ?? [], id);
    assert.deepEqual((await this.#engine.job.verify()).problems, []);
  }
}

test("whatever becomes of local copies, what is restored is what was appended", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) await new RandomLife(seed).live();
});
