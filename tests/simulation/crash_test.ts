import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  CHANGING_CALLS,
  type CrashMode,
  type DiskCall,
  ForgettingDisk,
} from "../doubles/forgetting_file_system.ts";
import { Oracle } from "./_oracle.ts";
import { checkAfterCrash, isCrash, live } from "./_scenario.ts";

const MODES: readonly CrashMode[] = ["kill", "power-cut", "random-power-cut"];

/** Calls of a whole life that change what the disk holds: a crash between others is a crash at one of them. */
async function changingCalls(): Promise<readonly DiskCall[]> {
  const disk = new ForgettingDisk();
  await live(disk, new Oracle());
  return disk.log.filter(({ kind }) => CHANGING_CALLS.has(kind));
}

async function crashAfter(call: DiskCall, mode: CrashMode): Promise<void> {
  const disk = new ForgettingDisk({ seed: call.number });
  const oracle = new Oracle();
  disk.crashAt(call.number, "after");
  // A crash in what the engine does in passing, such as tidying up, is seen at the next call that counts.
  await live(disk, oracle).catch((error) => assert.ok(isCrash(error), error));
  disk.crash(mode);
  const where = `${mode} after call ${call.number} (${call.kind} ${call.path})`;
  await checkAfterCrash(disk, oracle, where);
}

describe("an engine on a disk that forgets", () => {
  test("lives without a crash", async () => {
    const disk = new ForgettingDisk();
    const oracle = new Oracle();
    await live(disk, oracle);
    disk.crash("power-cut");
    await checkAfterCrash(disk, oracle, "no crash");
  });

  for (const mode of MODES) {
    test(`keeps its guarantees over a ${mode} at every call`, async () => {
      const calls = await changingCalls();
      assert.ok(calls.length > 150, `a life is only ${calls.length} calls`);
      for (const call of calls) await crashAfter(call, mode);
    });
  }
});
