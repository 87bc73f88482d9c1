/** docs/BACKUP.md: files that are copied while their owner works, one by one, in any order. @module */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/engine/errors.ts";
import type { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import {
  appendDurably,
  changeFiles,
  JOB,
  type JobEngine,
  keysBelow,
  newMemory,
  openJobOn,
  restore,
} from "./_engine.ts";

const WRITER = "totals";
const CATALOG = `jobs/${JOB}/catalog/`;
const STORES = 3;
const COPIES = 5;
/** How many copies in a row may be disturbed. */
const ATTEMPTS_MAX = 100;
/** Steps of the owner while a store is copied, on average. */
const STEPS = 1.5;

/** An owner that appends, and now and then does all that takes files away or begins anew. */
class BusyOwner {
  /** Changes that were acknowledged as durable. */
  acknowledged = 0;
  readonly #engine: JobEngine;
  readonly #random: SeededRandom;

  constructor(engine: JobEngine, random: SeededRandom) {
    this.#engine = engine;
    this.#random = random;
  }

  async step(): Promise<void> {
    const { job } = this.#engine;
    await appendDurably(job, WRITER, String(this.acknowledged));
    this.acknowledged++;
    const dice = this.#random.below(12);
    if (dice < 3) await job.checkpoint();
    if (dice === 3) await job.collect({ quarantineMs: 0 });
    if (dice === 4) await job.resume({ at: "tail" });
  }
}

/** Names in a folder of the store, and those folders that are below it. */
async function entriesOf(objects: MemoryBackend, folder: string): Promise<string[]> {
  const parts = (await keysBelow(objects, folder)).map((key) => {
    const rest = key.slice(folder.length);
    return folder + (rest.includes("/") ? rest.slice(0, rest.indexOf("/") + 1) : rest);
  });
  return [...new Set(parts)];
}

/**
 * Copies a folder as `cp -a` does: lists it, then takes entry after entry, in no order that anybody promises, while
 * the owner goes on.
 *
 * @returns Whether nothing that was listed had gone.
 */
async function copyFolder(
  objects: MemoryBackend,
  target: MemoryBackend,
  folder: string,
  surroundings: { owner: BusyOwner; random: SeededRandom },
): Promise<boolean> {
  const { owner, random } = surroundings;
  const entries = await entriesOf(objects, folder);
  const share = STEPS / (await keysBelow(objects)).length;
  let isWhole = true;
  while (entries.length > 0) {
    const [entry] = entries.splice(random.below(entries.length), 1);
    if (random.chance(share)) await owner.step();
    if (entry.endsWith("/")) {
      isWhole = await copyFolder(objects, target, entry, surroundings) && isWhole;
      continue;
    }
    try {
      await target.put(entry, await objects.get(entry));
    } catch (error) {
      if (!hasCode(error, "object-not-found")) throw error;
      isWhole = false;
    }
  }
  return isWhole;
}

/** What hard links to change files hold once their owner has gone on: it may have appended to them. */
async function readLater(objects: MemoryBackend, copy: MemoryBackend): Promise<void> {
  for (const key of await changeFiles(copy)) {
    if (await objects.head(key) !== undefined) await copy.put(key, await objects.get(key));
  }
}

async function catalogOf(objects: MemoryBackend): Promise<string> {
  return (await keysBelow(objects, CATALOG)).join();
}

/** What is wrong with a copy; undefined when it holds all that was acknowledged before it was begun. */
async function faultOf(copy: MemoryBackend, acknowledged: number): Promise<string | undefined> {
  try {
    const { store, job } = await openJobOn(copy, { create: false }, { create: false });
    const { changes: { [WRITER]: changes = [] } } = await restore(job, { at: "tail" });
    const { ok, problems } = await job.verify({ level: "full" });
    await store.close();
    if (!ok) return problems[0].reason;
    if (changes.some((text, offset) => text !== String(offset))) return "there is a hole";
    return changes.length < acknowledged ? "something is missing" : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Makes a store, and copies of it beside its busy owner; answers the faults that they have. */
async function copyBesideOwner(seed: number, isChecked: boolean): Promise<string[]> {
  const random = new SeededRandom(seed);
  const objects = newMemory();
  const engine = await openJobOn(objects, { changeFileBytesMax: 300 });
  const owner = new BusyOwner(engine, random);
  for (let step = 0; step < 10; step++) await owner.step();
  const faults: string[] = [];
  for (let number = 0; number < COPIES; number++) {
    for (let attempt = 1;; attempt++) {
      assert.ok(attempt <= ATTEMPTS_MAX, `seed ${seed}: no copy is left undisturbed`);
      const { acknowledged } = owner;
      const before = await catalogOf(objects);
      const copy = newMemory();
      const isWhole = await copyFolder(objects, copy, "", { owner, random });
      if (isChecked && !(isWhole && before === await catalogOf(objects))) continue;
      if (random.chance(0.5)) {
        await owner.step();
        await readLater(objects, copy);
      }
      const fault = await faultOf(copy, acknowledged);
      if (fault !== undefined) faults.push(`seed ${seed}, copy ${number}: ${fault}`);
      break;
    }
  }
  await engine.store.close();
  return faults;
}

async function copyBesideOwners(seed: number, isChecked: boolean): Promise<string[]> {
  const faults: string[] = [];
  for (let store = 0; store < STORES; store++) {
    faults.push(...await copyBesideOwner(seed + store, isChecked));
  }
  return faults;
}

describe("files that are copied while their owner works", () => {
  const seed = Math.floor(Math.random() * 2 ** 32);

  test("are a whole store if none had gone and the catalog lists the same afterwards", async () => {
    assert.deepEqual(await copyBesideOwners(seed, true), []);
  });

  test("are no store to rely on otherwise", async () => {
    assert.notDeepEqual(await copyBesideOwners(1, false), []);
  });
});
