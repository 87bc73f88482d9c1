import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import os from "node:os";
import process from "node:process";
import { test } from "node:test";
import { formatRecord } from "../../src/runtime/console_logger.ts";
import { runtimeOf } from "../../src/runtime/choose_file_system.ts";
import { systemProcessInfo } from "../../src/runtime/process_info.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { SystemRandom } from "../../src/runtime/system_random.ts";

const LINUX_ONLY = process.platform !== "linux" && "reads /proc";

test("systemProcessInfo tells of this process", () => {
  const info = systemProcessInfo();
  assert.equal(info.processId, process.pid);
  assert.equal(info.hostName, os.hostname());
  assert.match(info.user, /^\S+ \(\d+\)$/);
  assert.doesNotMatch(info.user, /^unknown/);
  assert.match(info.runtime, new RegExp(`^${runtimeOf(process.versions)} \\d+\\.\\d+\\.\\d+`));
  assert.deepEqual(systemProcessInfo().processStart, info.processStart);
  assert.equal(info.isAlive(process.pid, info.processStart), true);
});

test("systemProcessInfo reads the boot id and the start", { skip: LINUX_ONLY }, () => {
  const info = systemProcessInfo();
  assert.match(info.bootId, /^[0-9a-f-]{36}$/);
  assert.match(info.processStart, /^\d+ pid:\[\d+\]$/);
});

test(
  "systemProcessInfo sees a process end, and its id used again",
  { skip: LINUX_ONLY },
  async () => {
    const info = systemProcessInfo();
    const [, namespace] = info.processStart.split(" ");
    const child = spawn("sleep", ["60"]);
    await once(child, "spawn");
    const { pid } = child;
    assert.ok(pid !== undefined);
    const stat = spawnSync("cut", ["-d ", "-f22", `/proc/${pid}/stat`], { encoding: "utf8" });
    const start = `${stat.stdout.trim()} ${namespace}`;
    assert.equal(info.isAlive(pid, start), true);
    assert.equal(info.isAlive(pid, `1${start}`), false, "another process has its id now");
    assert.equal(info.isAlive(pid, "1 pid:[1]"), undefined, "of another container");
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal(info.isAlive(pid, start), false);
  },
);

test("SystemClock goes forward, calls once, and cancels", async () => {
  const clock = new SystemClock();
  const before = clock.monotonicMs();
  const calls: string[] = [];
  clock.schedule(0, () => calls.push("cancelled")).cancel();
  await new Promise<void>((resolve) => {
    // A timer of the clock keeps no process alive: this one does.
    const alive = setInterval(() => {}, 1000);
    clock.schedule(1, () => {
      calls.push("called");
      clearInterval(alive);
      resolve();
    });
  });
  assert.deepEqual(calls, ["called"]);
  assert.ok(clock.monotonicMs() >= before);
  assert.ok(Math.abs(clock.nowMs() - Date.now()) < 60_000);
});

test("SystemRandom fills more than one call of the platform gives", () => {
  const bytes = new Uint8Array(200_000);
  new SystemRandom().fill(bytes);
  for (let from = 0; from < bytes.length; from += 50_000) {
    assert.ok(bytes.subarray(from, from + 50_000).some((byte) => byte !== 0));
  }
});

test("ConsoleLogger writes one line for each record", () => {
  assert.equal(formatRecord("info", "Opened", {}), "info Opened");
  assert.equal(
    formatRecord("warning", "Two\nlines", { count: 7n, error: new TypeError("no") }),
    'warning Two lines {"count":"7","error":"TypeError: no"}',
  );
});
