/**
 * Every storage call of a salvage goes wrong, in every way that it can: nothing that was there is gone or changed, and
 * the next salvage brings back what an undisturbed one does.
 * @module
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/engine/errors.ts";
import { JobKeys, RESERVE_KEY } from "../../src/engine/paths.ts";
import type { OpenStore } from "../../src/engine/store.ts";
import type { Job, SalvageReport } from "../../src/engine/types.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { NO_METRICS } from "../../src/engine/port/metrics.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";
import { SeededRandom } from "../doubles/seeded_random.ts";
import { DiskGround, type Fault, FAULTS, type Ground, MemoryGround } from "./_ground.ts";
import { openStoreOn } from "./_life.ts";
import { JOB, restoreAll } from "./_scenario.ts";

const KEYS = new JobKeys(JOB);

/** For each kind of fault. */
const POINTS_MAX = 8;

const GROUNDS: Readonly<Record<string, () => Ground>> = {
  disk: () => new DiskGround(1),
  memory: () => new MemoryGround(),
};

/** What is lost, before the job is salvaged. */
const DAMAGES: Readonly<Record<string, (keys: readonly string[]) => readonly string[]>> = {
  "the catalog": (keys) => keys.filter((key) => KEYS.parseGeneration(key) !== undefined),
  "a file of the tail": (keys) => {
    const files = keys.filter((key) => KEYS.parseChangeFile(key) !== undefined);
    return [files.at(-2)!];
  },
};

async function appendDurably(job: Job, writer: string, text: string): Promise<void> {
  job.writer(writer).append(0, new TextEncoder().encode(text));
  await job.writer(writer).persist();
}

/** A job that was killed, with two checkpoints, a tail in several files, the last batch of which nothing proves. */
async function live(ground: Ground): Promise<void> {
  const store = await openStoreOn(ground);
  const job = await store.job(JOB);
  for (const text of ["a", "b"]) {
    await appendDurably(job, "w", text);
    await appendDurably(job, "v", text);
    await job.checkpoint();
  }
  await job.resume({ at: "tail" });
  await appendDurably(job, "w", "c");
  await job.resume({ at: "tail" });
  await appendDurably(job, "v", "c");
  await appendDurably(job, "w", "d");
  ground.crash("power-cut");
}

async function damage(ground: Ground, which: string): Promise<void> {
  const backend = ground.backend({
    clock: new ManualClock(),
    random: new SeededRandom(7),
    logger: new RecordingLogger(),
    metrics: NO_METRICS,
  });
  const keys = [...(await ground.objects()).keys()].sort();
  for (const key of DAMAGES[which](keys)) await backend.delete(key);
  ground.crash("power-cut");
}

async function salvage(store: OpenStore): Promise<SalvageReport> {
  const { id } = await store.salvage(JOB);
  return await store.salvage(JOB, { accept: id });
}

interface Found {
  readonly lost: unknown;
  readonly checkpoints: Readonly<Record<string, unknown>>;
  readonly tail: unknown;
}

/** Salvages where that is needed, opens, and reads everything. */
async function look(ground: Ground): Promise<Found> {
  const store = await openStoreOn(ground);
  const { lost } = await salvage(store);
  const job = await store.job(JOB);
  assert.deepEqual((await job.verify()).problems, []);
  const checkpoints: Record<string, unknown> = {};
  for (const { uuid } of await job.checkpoints()) checkpoints[uuid] = await restoreAll(job, uuid);
  const tail = await restoreAll(job, "tail");
  await store.close();
  return { lost, checkpoints, tail };
}

/** What a salvage must leave as it is. */
function kept(objects: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  const isOthers = (key: string) =>
    key === RESERVE_KEY || key === KEYS.lock || key.startsWith(KEYS.readersPrefix) ||
    /(^|\/)\.tmp-/.test(key);
  return new Map([...objects].filter(([key]) => !isOthers(key)));
}

async function prepared(name: string, which: string): Promise<Ground> {
  const ground = GROUNDS[name]();
  await live(ground);
  await damage(ground, which);
  return ground;
}

describe("a salvage of which a storage call goes wrong", () => {
  for (const name of Object.keys(GROUNDS)) {
    for (const which of Object.keys(DAMAGES)) {
      for (const fault of FAULTS) {
        // Memory has nothing that a sync could lose.
        if (name === "memory" && fault === "sync lies") continue;
        test(`${fault} on ${name}, after ${which} was lost`, async () => {
          const counted = await prepared(name, which);
          const wanted = await look(await prepared(name, which));
          const begin = counted.callCount;
          await salvage(await openStoreOn(counted));
          const kinds = counted.kindsOf(fault);
          const calls = counted.calls.slice(begin)
            .map(({ kind, path }, at) => ({ kind, path, at }))
            .filter(({ kind }) => kinds?.has(kind) ?? true);
          for (const { kind, path, at } of spread(calls)) {
            await runPoint(await prepared(name, which), {
              fault,
              number: begin + at + 1,
              wanted,
              where: `call ${at} (${kind} ${path})`,
            });
          }
        });
      }
    }
  }
});

/** Some of many, from the first to the last. */
function spread<Item>(items: readonly Item[]): Item[] {
  const step = Math.max(1, Math.ceil(items.length / POINTS_MAX));
  return items.filter((_, at) => at % step === 0 || at === items.length - 1);
}

async function runPoint(
  ground: Ground,
  point: { fault: Fault; number: number; wanted: Found; where: string },
): Promise<void> {
  const before = kept(await ground.objects());
  ground.plan(point.fault, point.number);
  try {
    await salvage(await openStoreOn(ground));
  } catch (error) {
    const isToldOf = ["storage-unavailable", "storage-full"].some((code) =>
      hasCode(error, code as "storage-full")
    );
    assert.ok(isToldOf || point.fault.startsWith("crash"), `${point.where}: ${error}`);
  }
  ground.crash("power-cut");
  const found = await look(ground);
  const after = await ground.objects();
  for (const [key, bytes] of before) {
    assert.deepEqual(after.get(key), bytes, `${point.where}: ${key} is gone or changed`);
  }
  assert.deepEqual(found.checkpoints, point.wanted.checkpoints, point.where);
  assert.deepEqual(found.tail, point.wanted.tail, point.where);
}
