/** A crash after a call of a whole life, and what must hold then. @module */
import assert from "node:assert/strict";
import {
  CHANGING_CALLS,
  type CrashMode,
  type DiskCall,
  ForgettingDisk,
} from "../doubles/forgetting_file_system.ts";
import { Oracle } from "./_oracle.ts";
import { checkAfterCrash, isCrash, live } from "./_scenario.ts";

/** What a crash leaves of what was not synced. */
export const CRASH_MODES: readonly CrashMode[] = ["kill", "power-cut", "random-power-cut"];

/** Calls of a whole life that change what the disk holds: a crash between others is a crash at one of them. */
export async function changingCalls(): Promise<readonly DiskCall[]> {
  const disk = new ForgettingDisk();
  await live(disk, new Oracle());
  return disk.log.filter(({ kind }) => CHANGING_CALLS.has(kind));
}

/** Lives up to a call, crashes, and checks what is left. */
export async function crashAfter(call: DiskCall, mode: CrashMode): Promise<void> {
  const disk = new ForgettingDisk({ seed: call.number });
  const oracle = new Oracle();
  disk.crashAt(call.number, "after");
  // A crash in what the engine does in passing, such as tidying up, is seen at the next call that counts.
  await live(disk, oracle).catch((error) => assert.ok(isCrash(error), error));
  disk.crash(mode);
  const where = `${mode} after call ${call.number} (${call.kind} ${call.path})`;
  await checkAfterCrash(disk, oracle, where);
}
