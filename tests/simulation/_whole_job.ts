/**
 * A deletion and an import of a whole job of which a storage call goes wrong: the job is there whole, or not at all, and
 * whoever comes next ends what was begun.
 * @module
 */
import assert from "node:assert/strict";
import { hasCode, TidemarkError } from "../../src/engine/errors.ts";
import { JobKeys } from "../../src/engine/paths.ts";
import type { Job, Store } from "../../src/engine/types.ts";
import { gather, inPieces } from "../engine/_archive.ts";
import { DiskGround, type Fault, type Ground, MemoryGround } from "./_ground.ts";
import { leaksIn } from "./leaks.ts";
import { openStoreOn } from "./_life.ts";
import { JOB, restoreAll } from "./_scenario.ts";

const KEYS = new JobKeys(JOB);

/** What they are done on. */
export const GROUNDS: Readonly<Record<string, () => Ground>> = {
  disk: () => new DiskGround(1),
  memory: () => new MemoryGround(),
};

async function appendDurably(job: Job, writer: string, text: string): Promise<void> {
  job.writer(writer).append(0, new TextEncoder().encode(text));
  await job.writer(writer).persist();
}

/** A job with two checkpoints, a state, files of two epochs, and a tail. */
async function live(store: Store): Promise<void> {
  const job = await store.job(JOB);
  const states = { sums: new TextEncoder().encode("sums") };
  await appendDurably(job, "w", "a");
  await job.checkpoint({ states });
  await job.resume({ at: "tail" });
  await appendDurably(job, "w", "b");
  await job.checkpoint({ states: { sums: { from: "latest" } } });
  await appendDurably(job, "v", "c");
  await job.close();
}

/** All that a job gives back. */
async function contentOf(job: Job): Promise<unknown> {
  const found: Record<string, unknown> = {};
  for (const { uuid } of await job.checkpoints()) {
    const sums = await gather(job.readState("sums", { at: uuid }));
    found[uuid] = [await restoreAll(job, uuid), new TextDecoder().decode(sums)];
  }
  assert.deepEqual((await job.verify()).problems, []);
  return { ...found, tail: await restoreAll(job, "tail") };
}

/** What is done, on which ground, and what must hold whatever went wrong in it. */
export interface Scenario {
  prepare(make: () => Ground): Promise<Ground>;
  act(store: Store): Promise<unknown>;
  /** @param end How it ended; undefined: nobody was told. */
  check(ground: Ground, end: "done" | TidemarkError | undefined, where: string): Promise<void>;
}

const source = await openStoreOn(new MemoryGround());
await live(source);
const archive = await gather(source.exportJob(JOB));
const content = await contentOf(await source.job(JOB));

/** The name is free, and what is made of it is new. */
async function checkFree(store: Store, ground: Ground, where: string): Promise<void> {
  assert.deepEqual(await store.jobs(), [], where);
  const epochs = [...(await ground.objects()).keys()].map((key) => KEYS.parseOwner(key) ?? 0);
  const job = await store.job(JOB);
  assert.ok(job.epoch > Math.max(...epochs), where);
  assert.deepEqual([await job.checkpoints(), await job.writers()], [[], []], where);
  await appendDurably(job, "w", "new");
  await job.checkpoint({ states: { sums: new TextEncoder().encode("new") } });
  assert.deepEqual(await restoreAll(job, "latest"), new Map([["w", ["new"]]]), where);
  await job.close();
  await checkNothingLeft(ground, where);
}

/** But for temporary names, which the next open sweeps. */
async function checkNothingLeft(ground: Ground, where: string): Promise<void> {
  const leaks = leaksIn(await ground.objects()).filter((key) => !key.includes("/.tmp-"));
  assert.deepEqual(leaks, [], `${where}: nothing needs these`);
}

const DELETION: Scenario = {
  async prepare(make) {
    const ground = make();
    const store = await openStoreOn(ground);
    await live(store);
    await store.close();
    return ground;
  },
  act: (store) => store.deleteJob(JOB, { takeOver: true }),
  async check(ground, end, where) {
    const store = await openStoreOn(ground);
    const isThere = (await store.jobs()).length > 0;
    const { outcome } = end instanceof TidemarkError ? end : { outcome: undefined };
    if (end === "done" || outcome === "applied") assert.ok(!isThere, `${where}: it is still there`);
    if (outcome === "not-applied") assert.ok(isThere, `${where}: it is gone`);
    if (isThere) {
      const job = await store.job(JOB, { create: false });
      const kept = await contentOf(job);
      assert.deepEqual(Object.keys(kept as object).length, 3, where);
      await job.close();
      await store.deleteJob(JOB);
    } else {
      await assert.rejects(store.job(JOB, { create: false }), isNotFound, where);
      await assert.rejects(store.reader(JOB), isNotFound, where);
      await store.deleteJob(JOB).catch((error) => assert.ok(isNotFound(error), error));
    }
    await checkNothingLeft(ground, where);
    await checkFree(store, ground, where);
    await store.close();
  },
};

const IMPORT: Scenario = {
  prepare: async (make) => {
    const ground = make();
    await (await openStoreOn(ground)).close();
    return ground;
  },
  act: (store) => store.importJob(JOB, inPieces(archive)),
  async check(ground, end, where) {
    const store = await openStoreOn(ground);
    const isThere = (await store.jobs()).length > 0;
    if (end === "done") assert.ok(isThere, `${where}: it is gone`);
    if (end instanceof TidemarkError && end.outcome === "not-applied") {
      assert.ok(!isThere, `${where}: it is there`);
    }
    if (!isThere) {
      const isNone = (error: unknown) => isNotFound(error) || hasCode(error, "import-unfinished");
      await assert.rejects(store.job(JOB, { create: false }), isNone, where);
      await assert.rejects(store.reader(JOB), isNone, where);
      await store.importJob(JOB, inPieces(archive));
    }
    const job = await store.job(JOB, { create: false });
    assert.deepEqual(await contentOf(job), content, where);
    await appendDurably(job, "w", "d");
    await job.checkpoint();
    await job.collect({ quarantineMs: 0 });
    await job.close();
    await checkNothingLeft(ground, where);
    await store.close();
  },
};

function isNotFound(error: unknown): boolean {
  return hasCode(error, "job-not-found");
}

/** What is done. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = { deletion: DELETION, import: IMPORT };

/** One call of a scenario, and what goes wrong with it. */
export interface Point {
  readonly fault: Fault;
  readonly kind: string;
  readonly path: string;
  /** Counts the scenario's calls, from 0. */
  readonly at: number;
}

/** Calls of a scenario that a fault makes sense of. */
export async function pointsOf(
  scenario: Scenario,
  make: () => Ground,
  fault: Fault,
): Promise<Point[]> {
  const counted = await scenario.prepare(make);
  counted.crash("power-cut");
  const begin = counted.callCount;
  await scenario.act(await openStoreOn(counted));
  const kinds = counted.kindsOf(fault);
  const calls = counted.calls.slice(begin).map(({ kind, path }, at) => ({ kind, path, at, fault }));
  return calls.filter(({ kind }) => kinds?.has(kind) ?? true);
}

/** @throws {Error} Names the point at which something does not hold. */
export async function runPoint(
  scenario: Scenario,
  make: () => Ground,
  { fault, kind, path, at }: Point,
): Promise<void> {
  const ground = await scenario.prepare(make);
  ground.crash("power-cut");
  ground.plan(fault, ground.callCount + at + 1);
  const where = `${fault} at call ${at} (${kind} ${path})`;
  const end = await run(scenario, ground, where);
  assert.ok(ground.hasStruck || ground.isDown, `${where} did not strike`);
  ground.crash(at % 2 === 0 ? "power-cut" : "kill");
  await scenario.check(ground, fault.startsWith("crash") ? undefined : end, where);
}

/** Acts as a process would that a fault meets. */
async function run(
  scenario: Scenario,
  ground: Ground,
  where: string,
): Promise<"done" | TidemarkError | undefined> {
  let store: Store;
  try {
    store = await openStoreOn(ground);
  } catch {
    // Nothing was begun.
    return undefined;
  }
  try {
    await scenario.act(store);
    return "done";
  } catch (error) {
    if (ground.isDown) return undefined;
    assert.ok(error instanceof TidemarkError, `${where}: ${error}`);
    return error;
  }
}
