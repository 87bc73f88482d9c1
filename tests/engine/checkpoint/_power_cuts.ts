/**
 * Cuts the power before each call of an action that changes the disk, one after another, and has looked at what is
 * found after.
 * @module
 */
import assert from "node:assert/strict";
import type { Job } from "../../../src/engine/types.ts";
import { CHANGING_CALLS, ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { posixOn } from "../../doubles/posix_on_double.ts";
import { openJobOn } from "../_engine.ts";

/** What is cut, and what must hold after. */
export interface CutAction<Prepared> {
  /** Brings a new job to where the action begins. */
  prepare(job: Job): Promise<Prepared>;
  act(job: Job, prepared: Prepared): Promise<unknown>;
  /** Looks at the job as the next process finds it. */
  check(job: Job, prepared: Prepared): Promise<void>;
}

/** Answers how many cuts there were. */
export async function cutEverywhere<Prepared>(action: CutAction<Prepared>): Promise<number> {
  for (let cut = 1;; cut++) {
    const disk = new ForgettingDisk();
    const { job } = await openJobOn(posixOn(disk));
    const prepared = await action.prepare(job);
    let left = cut;
    disk.addFault({
      matches: ({ kind }) => CHANGING_CALLS.has(kind) && --left === 0,
      error: "crash",
    });
    await action.act(job, prepared).catch((error) => assert.ok(disk.isHalted, error));
    if (!disk.isHalted) return cut - 1;
    disk.crash("power-cut");
    try {
      await action.check((await openJobOn(posixOn(disk))).job, prepared);
    } catch (error) {
      throw new Error(`cut before call ${cut}: ${(error as Error).message}`, { cause: error });
    }
  }
}
