/**
 * A crash after every call of a whole life, dealt out to the runtimes. `npm run soak -- simulation/crash` takes all, on
 * any of them.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ForgettingDisk } from "../doubles/forgetting_file_system.ts";
import { changingCalls, CRASH_MODES, crashAfter } from "./_crashes.ts";
import { dealtOut } from "./_deal.ts";
import { Oracle } from "./_oracle.ts";
import { checkAfterCrash, live } from "./_scenario.ts";

describe("an engine on a disk that forgets", () => {
  test("lives without a crash", async () => {
    const disk = new ForgettingDisk();
    const oracle = new Oracle();
    await live(disk, oracle);
    disk.crash("power-cut");
    await checkAfterCrash(disk, oracle, "no crash");
  });

  for (const mode of CRASH_MODES) {
    test(`keeps its guarantees over a ${mode} at every call`, async () => {
      const calls = await changingCalls();
      assert.ok(calls.length > 150, `a life is only ${calls.length} calls`);
      for (const call of dealtOut(calls)) await crashAfter(call, mode);
    });
  }
});
