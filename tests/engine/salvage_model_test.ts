/**
 * Random lives of a job whose catalog is lost at the end: whatever is whole comes back byte for byte, and what does not
 * is named.
 * @module
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import type { SalvageReport } from "../../src/engine/types.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  appendDurably,
  changeFiles,
  flip,
  JOB,
  type JobEngine,
  keysBelow,
  newMemory,
  openEngine,
  openJobOn,
  restore,
  rewrite,
} from "./_engine.ts";
import { generations, KEYS, loseCatalog, planOn, salvageOn } from "./_salvage.ts";

const SEEDS = 50;
const STEPS = 40;
const WRITERS = ["a", "b", "c"];

type Lines = Record<string, string[]>;

interface Expected {
  /** What the tail held, before anything was lost; nothing where a resume may have left no trace. */
  readonly tail: Readonly<Lines>;
  /** What each checkpoint holds that can be restored without the catalog's loss. */
  readonly whole: Readonly<Record<string, Readonly<Lines>>>;
}

class LostLife {
  readonly #random: SeededRandom;
  readonly #settings: { readonly changeFileBytesMax: number };
  readonly objects: MemoryBackend = newMemory();
  /** Every line that a writer ever had. */
  readonly #lines = new Map<string, string[][]>();
  #now: Lines = {};
  readonly #then = new Map<string, Lines>();
  /** Writers that have not appended since the newest resume to a checkpoint, after which no checkpoint was made. */
  readonly #unsettled = new Set<string>();
  #engine!: JobEngine;
  #changes = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#settings = { changeFileBytesMax: this.#random.pick([1, 900, 1e6]) };
  }

  async live(): Promise<void> {
    await this.#open();
    await this.#engine.job.setRetention({ minCount: this.#random.pick([1, 2, 5]) });
    for (let i = 0; i < STEPS; i++) await this.#step();
    await this.#end();
  }

  async #open(): Promise<void> {
    this.#engine = await openJobOn(this.objects, this.#settings);
    this.#now = { ...(await restore(this.#engine.job, { at: "tail" })).changes };
  }

  /** In order, or as a kill ends it. */
  async #end(): Promise<void> {
    if (this.#random.pick([true, false])) await this.#engine.store.close();
  }

  async #step(): Promise<void> {
    const { job } = this.#engine;
    switch (this.#random.pick([..."aaaaaacccrrot", "pin", "gc"])) {
      case "a":
        return await this.#append(this.#random.pick(WRITERS));
      case "c": {
        const { uuid } = await job.checkpoint();
        this.#then.set(uuid, structuredClone(this.#now));
        return this.#unsettled.clear();
      }
      case "r":
        return await this.#resume();
      case "o":
      case "t":
        await this.#end();
        return await this.#open();
      case "pin":
        return await job.pin(this.#random.pick([...await this.#uuids()]));
      case "gc":
        return void await job.collect({ quarantineMs: 0 });
    }
  }

  async #append(writer: string): Promise<void> {
    const texts = Array.from(
      { length: 1 + this.#random.below(3) },
      () => `change ${this.#changes++}`,
    );
    await appendDurably(this.#engine.job, writer, ...texts);
    this.#now = { ...this.#now, [writer]: [...this.#now[writer] ?? [], ...texts] };
    this.#unsettled.delete(writer);
    const lines = this.#lines.get(writer) ?? [];
    this.#lines.set(writer, [...lines, this.#now[writer]]);
  }

  async #resume(): Promise<void> {
    const at = this.#random.pick(["latest", "tail", ...await this.#uuids()]);
    const { checkpoint } = await this.#engine.job.resume({ at });
    if (at === "tail") return;
    for (const writer of WRITERS) this.#unsettled.add(writer);
    this.#now = checkpoint === undefined ? {} : structuredClone(this.#then.get(checkpoint.uuid)!);
  }

  /** Of the checkpoints that there are; one is made where there is none. */
  async #uuids(): Promise<string[]> {
    const { job } = this.#engine;
    const found = (await job.checkpoints()).map(({ uuid }) => uuid);
    if (found.length > 0) return found;
    const { uuid } = await job.checkpoint();
    this.#then.set(uuid, structuredClone(this.#now));
    return [uuid];
  }

  /** Spoils some objects that are no generation. */
  async damage(): Promise<void> {
    const keys = [
      ...await changeFiles(this.objects),
      ...await keysBelow(this.objects, KEYS.checkpointsPrefix),
      ...await keysBelow(this.objects, KEYS.adoptedPrefix),
    ];
    for (let i = this.#random.below(3); i >= 0; i--) {
      const key = this.#random.pick(keys);
      const size = (await this.objects.head(key))?.size ?? 0;
      if (size === 0) continue;
      const how = this.#random.below(3);
      if (how === 0) await this.objects.delete(key);
      else if (how === 1) await rewrite(this.objects, key, flip(this.#random.below(size)));
      else await rewrite(this.objects, key, (all) => all.slice(0, this.#random.below(size)));
    }
  }

  /** What can be read while the catalog is there. */
  async expect(): Promise<Expected> {
    const { store } = await openEngine(this.objects, { mode: "read" });
    const reader = await store.reader(JOB);
    const whole: Record<string, Readonly<Lines>> = {};
    const { problems } = await reader.verify();
    for (const { uuid } of await reader.checkpoints()) {
      const details = await reader.checkpointDetails(uuid).catch(dropLoss);
      // What is bad in a file is bad for whoever needs the file, read or not.
      const isBad = details?.files.some(({ key, length }) =>
        problems.some((bad) => bad.key === key && (bad.from ?? 0) < length)
      );
      if (isBad) continue;
      const found = await restore(reader, { at: uuid }).catch(dropLoss);
      if (found !== undefined) whole[uuid] = found.changes;
    }
    return { tail: this.#unsettled.size > 0 ? {} : this.#now, whole };
  }

  async lose(): Promise<void> {
    const keys = await generations(this.objects);
    const spoiled = this.#random.pick([keys.length, 1, 1 + this.#random.below(keys.length)]);
    if (spoiled === keys.length) return await loseCatalog(this.objects);
    for (const key of keys.slice(-spoiled)) await this.objects.put(key, new Uint8Array([0]));
  }

  /** Whether a writer ever had this line, or more of it. */
  hadLine(writer: string, line: readonly string[]): boolean {
    return line.length === 0 ||
      this.#lines.get(writer)!.some((had) => line.every((text, at) => had[at] === text));
  }
}

/** What is lost is what this is about. */
function dropLoss(error: { kind?: string }): undefined {
  if (error.kind !== "corrupt") throw error;
}

async function check(life: LostLife, expected: Expected, report: SalvageReport): Promise<void> {
  const { job, store } = await openJobOn(life.objects);
  assert.deepEqual((await job.verify()).problems, []);
  const listed = new Set((await job.checkpoints()).map(({ uuid }) => uuid));
  for (const [uuid, changes] of Object.entries(expected.whole)) {
    assert.ok(listed.has(uuid), `checkpoint ${uuid} is whole, and not listed`);
    assert.deepEqual((await restore(job, { at: uuid })).changes, changes);
  }
  const { changes } = await restore(job, { at: "tail" });
  for (const writer of WRITERS) {
    const [found, wanted] = [changes[writer] ?? [], expected.tail[writer] ?? []];
    assert.ok(life.hadLine(writer, found), `writer ${writer} never had ${found}`);
    const isBack = wanted.every((text, at) => found[at] === text);
    const lost = report.lost.changes.find((one) => one.writer === writer);
    if (lost !== undefined) assert.equal(lost.from, found.length);
    // Without the object that said so, a resume to the tail can't be told from one to a checkpoint.
    const isLeft = report.notes.some((note) => /older runs/.test(note));
    assert.ok(
      isBack || lost !== undefined || isLeft || report.lost.objects.some(isOfChanges),
      `writer ${writer} has ${found} of ${wanted}, and nothing says so`,
    );
  }
  await appendDurably(job, "a", "goes on");
  await job.checkpoint();
  assert.deepEqual((await job.collect({ quarantineMs: 0 })).problems, []);
  await store.close();
  assert.equal((await planOn(life.objects)).isNeeded, false);
}

function isOfChanges({ key }: { key: string }): boolean {
  return !key.startsWith(KEYS.catalogPrefix);
}

describe("a job that lost its catalog", () => {
  for (const isDamaged of [false, true]) {
    const name = isDamaged ? "and other objects" : "and nothing else";
    test(`${name}, comes back with all that is whole (${SEEDS} lives)`, async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const life = new LostLife(seed);
        try {
          await life.live();
          if (isDamaged) await life.damage();
          const expected = await life.expect();
          await life.lose();
          const report = await salvageOn(life.objects);
          if (!isDamaged) assert.deepEqual(report.lost.changes, []);
          await check(life, expected, report);
        } catch (error) {
          throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
        }
      }
    });
  }
});
