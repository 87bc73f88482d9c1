/** Who may take a job's lock, with made-up processes, time and kernel locks. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LOCK_REFRESH_MS } from "../../../src/engine/limits.ts";
import type { FileSystem } from "../../../src/engine/port/file_system.ts";
import type { PosixBackend } from "../../../src/engine/storage/posix_backend.ts";
import { collect, rejectsWith, textOf } from "../../conformance/storage_backend.ts";
import { type FixedProcessOptions, ProcessTable } from "../../doubles/fixed_process_info.ts";
import { ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { posixOn } from "../../doubles/posix_on_double.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { turn } from "../_engine.ts";

const KEY = "jobs/j/LOCK";

interface Process {
  readonly backend: PosixBackend;
  readonly logger: RecordingLogger;
  readonly fileSystem: FileSystem;
  /** Ends it as `kill -9` does. */
  kill(): void;
}

/** One machine: its disk, its clock, its processes. */
class Machine {
  readonly clock = new ManualClock();
  readonly disk: ForgettingDisk;
  readonly processes = new ProcessTable();

  constructor() {
    this.disk = new ForgettingDisk({ clock: this.clock, folders: ["/disk/store"] });
  }

  /** Starts a process; its runtime has kernel locks or not. */
  start(hasKernelLock: boolean, options: FixedProcessOptions = {}): Process {
    const fileSystem = this.disk.fileSystem();
    if (!hasKernelLock) {
      const open = fileSystem.open.bind(fileSystem);
      fileSystem.open = async (path, mode) => {
        const handle = await open(path, mode);
        handle.tryLock = () => undefined;
        return handle;
      };
    }
    const logger = new RecordingLogger();
    const process = this.processes.start(options);
    const backend = posixOn(this.disk, { fileSystem, clock: this.clock, process, logger });
    return {
      backend,
      logger,
      fileSystem,
      kill: () => {
        fileSystem.kill();
        this.processes.kill(process);
      },
    };
  }

  async content(): Promise<Record<string, unknown>> {
    return JSON.parse(textOf(await this.start(true).backend.get(KEY)));
  }
}

/** Leaves a lock of a process that is gone. */
async function leaveDead(machine: Machine): Promise<void> {
  const dead = machine.start(false);
  await dead.backend.lock(KEY);
  dead.kill();
}

function newGate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => open = resolve);
  return { opened, open };
}

/** Has a process wait before and after its renames take effect; answers when the first has come. */
function renamesWait(
  { fileSystem }: Process,
  before: Promise<void>,
  after: Promise<void>,
): Promise<void> {
  const rename = fileSystem.rename.bind(fileSystem);
  const reached = newGate();
  fileSystem.rename = async (from, to) => {
    reached.open();
    await before;
    await rename(from, to);
    await after;
  };
  return reached.opened;
}

const KINDS = [true, false] as const;

function nameOf(hasKernelLock: boolean): string {
  return hasKernelLock ? "with" : "without";
}

for (const ownerLocks of KINDS) {
  for (const rivalLocks of KINDS) {
    const pair = `owner ${nameOf(ownerLocks)} kernel lock, rival ${nameOf(rivalLocks)}`;
    describe(`PosixBackend.lock, ${pair}`, () => {
      test(`${pair}: a live owner keeps it, and is named`, async () => {
        const machine = new Machine();
        const owner = machine.start(ownerLocks, { processId: 4711, runtime: "deno 2.9.6" });
        const lock = await owner.backend.lock(KEY);
        assert.deepEqual(lock.warnings, []);
        for (let period = 0; period < 10; period++) {
          await machine.clock.advance(LOCK_REFRESH_MS);
          const error = await rejectsWith(
            () => machine.start(rivalLocks).backend.lock(KEY),
            "job-busy",
          );
          assert.match(error.message, /process 4711 \(deno 2\.9\.6\) on test-host.*takeOver: true/);
        }
        assert.deepEqual(await collect(owner.backend.listTemporary("")), []);
      });

      test(`${pair}: one that let go is followed silently`, async () => {
        const machine = new Machine();
        const owner = machine.start(ownerLocks);
        const lock = await owner.backend.lock(KEY);
        await lock.close();
        await lock.close();
        assert.equal((await machine.content()).released, true);
        const next = await machine.start(rivalLocks).backend.lock(KEY);
        assert.deepEqual(next.warnings, []);
      });

      test(`${pair}: one that was killed is followed silently`, async () => {
        const machine = new Machine();
        const owner = machine.start(ownerLocks);
        await owner.backend.lock(KEY);
        owner.kill();
        const next = await machine.start(rivalLocks).backend.lock(KEY);
        assert.deepEqual(next.warnings, []);
        await rejectsWith(() => machine.start(rivalLocks).backend.lock(KEY), "job-busy");
      });

      test(`${pair}: a live one can be taken over, and harms the new one in nothing`, async () => {
        const machine = new Machine();
        const owner = machine.start(ownerLocks, { processId: 4711 });
        const lock = await owner.backend.lock(KEY);
        const rival = machine.start(rivalLocks, { processId: 4712 });
        const taken = await rival.backend.lock(KEY, { takeOver: true });
        assert.match(taken.warnings.join(), /taken over from process 4711/);
        await machine.clock.advance(LOCK_REFRESH_MS);
        await lock.close();
        const content = await machine.content();
        assert.equal(content.pid, 4712);
        assert.equal(content.released, false);
        assert.equal(content.time, new Date(machine.clock.nowMs()).toISOString());
        await rejectsWith(() => machine.start(ownerLocks).backend.lock(KEY), "job-busy");
      });
    });
  }
}

test("PosixBackend.lock names LOCK when it can't be refreshed, whether it was new or replaced", async () => {
  const machine = new Machine();
  for (let owners = 0; owners < 2; owners++) {
    const owner = machine.start(true);
    await owner.backend.lock(KEY);
    machine.disk.addFault({ matches: ({ kind }) => kind === "write", error: "EIO" });
    await machine.clock.advance(LOCK_REFRESH_MS);
    const [{ message, fields }] = owner.logger.records;
    assert.equal(message, "The lock could not be refreshed");
    assert.equal(fields.path, `/disk/store/${KEY}`);
    owner.kill();
  }
});

describe("PosixBackend.lock of an owner without kernel lock", () => {
  test("is dead when its time was not refreshed for three periods", async () => {
    for (const seesOthers of [true, false]) {
      const machine = new Machine();
      const owner = machine.start(false);
      await owner.backend.lock(KEY);
      await machine.clock.advance(LOCK_REFRESH_MS);
      // Stopped: it is there, but does nothing.
      const stopped = new ManualClock(machine.clock.nowMs());
      const rival = () =>
        posixOn(machine.disk, {
          clock: stopped,
          process: machine.processes.start({ seesOthers }),
        });
      stopped.advanceSync(3 * LOCK_REFRESH_MS);
      await rejectsWith(() => rival().lock(KEY), "job-busy");
      stopped.advanceSync(1);
      assert.deepEqual((await rival().lock(KEY)).warnings, []);
    }
  });

  test("is alive while its process can't be seen but its time is fresh", async () => {
    const machine = new Machine();
    const owner = machine.start(false);
    await owner.backend.lock(KEY);
    const rival = machine.start(false, { seesOthers: false });
    await rejectsWith(() => rival.backend.lock(KEY), "job-busy");
    owner.kill();
    await rejectsWith(() => rival.backend.lock(KEY), "job-busy");
    machine.clock.advanceSync(3 * LOCK_REFRESH_MS + 1);
    await rival.backend.lock(KEY);
  });

  test("is dead when its process id is another's", async () => {
    const machine = new Machine();
    const owner = machine.start(false, { processId: 7 });
    await owner.backend.lock(KEY);
    owner.kill();
    machine.start(false, { processId: 7, processStart: "later" });
    assert.deepEqual((await machine.start(false).backend.lock(KEY)).warnings, []);
  });

  test("is not kept alive by a clock that was set back", async () => {
    const machine = new Machine();
    const owner = machine.start(false);
    await owner.backend.lock(KEY);
    const early = new ManualClock(machine.clock.nowMs() - 3_600_000);
    const rival = posixOn(machine.disk, { clock: early, process: machine.processes.start() });
    assert.deepEqual((await rival.lock(KEY)).warnings, []);
  });
});

describe("PosixBackend.lock between machines", () => {
  test("another boot never blocks, and is warned of", async () => {
    for (const locks of KINDS) {
      const machine = new Machine();
      const owner = machine.start(locks, { hostName: "far", bootId: "boot-2", processId: 9 });
      await owner.backend.lock(KEY);
      const lock = await machine.start(locks).backend.lock(KEY);
      assert.match(lock.warnings.join(), /process 9 on far.*fencing decides/);
    }
  });

  test("the same boot is the same machine, whatever the host name", async () => {
    const machine = new Machine();
    const owner = machine.start(false, { hostName: "container-a" });
    await owner.backend.lock(KEY);
    const error = await rejectsWith(
      () => machine.start(false, { hostName: "container-b" }).backend.lock(KEY),
      "job-busy",
    );
    assert.equal(error.details.host, "container-a");
  });

  test("who may not see the boot id is of the machine that the host name says", async () => {
    const unseen = { bootId: "host test-host", seesOthers: false };
    for (const [first, second] of [[unseen, {}], [{}, unseen], [unseen, unseen]]) {
      for (const locks of KINDS) {
        const machine = new Machine();
        await machine.start(locks, first).backend.lock(KEY);
        await rejectsWith(() => machine.start(locks, second).backend.lock(KEY), "job-busy");
      }
    }
    const machine = new Machine();
    await machine.start(false, { hostName: "far", bootId: "host far" }).backend.lock(KEY);
    const lock = await machine.start(false).backend.lock(KEY);
    assert.match(lock.warnings.join(), /on far.*fencing decides/);
  });

  test("what a power cut left is no obstacle", async () => {
    for (const content of ["", "\0".repeat(512), "{", "null", '{"pid":1}']) {
      const machine = new Machine();
      await machine.start(true).backend.put(KEY, new TextEncoder().encode(content));
      const lock = await machine.start(true).backend.lock(KEY);
      assert.match(lock.warnings.join(), /can't be read, as after a power cut/);
    }
  });
});

describe("PosixBackend.lock", () => {
  test("keeps its file's size, and holds what DESIGN wants", async () => {
    const machine = new Machine();
    const owner = machine.start(true, { processId: 11, runtime: "bun 1.4.5" });
    const lock = await owner.backend.lock(KEY);
    const size = (await owner.backend.head(KEY))?.size;
    const content = await machine.content();
    assert.deepEqual(content, {
      host: "test-host",
      bootId: "boot-1",
      pid: 11,
      processStart: "start-11",
      runtime: "bun 1.4.5",
      kernelLock: true,
      released: false,
      time: content.time,
    });
    await machine.clock.advance(LOCK_REFRESH_MS);
    assert.notEqual((await machine.content()).time, content.time);
    await lock.close();
    assert.equal((await owner.backend.head(KEY))?.size, size);
    assert.equal(machine.clock.pendingCount, 0);
  });

  test("refreshes without any sync, and reports when it can't", async () => {
    const machine = new Machine();
    const owner = machine.start(true);
    const lock = await owner.backend.lock(KEY);
    const from = machine.disk.calls;
    await machine.clock.advance(3 * LOCK_REFRESH_MS);
    assert.deepEqual(machine.disk.log.slice(from).map(({ kind }) => kind), [
      "write",
      "write",
      "write",
    ]);
    machine.disk.addFault({ matches: ({ kind }) => kind === "write", error: "EIO" });
    await machine.clock.advance(2 * LOCK_REFRESH_MS);
    assert.equal(owner.logger.messages("warning").length, 1);
    await lock.close();
  });

  test("is one process's, however many open at the same time", async () => {
    for (const before of ["nobody", "a dead owner"]) {
      const machine = new Machine();
      if (before !== "nobody") {
        const dead = machine.start(true);
        await dead.backend.lock(KEY);
        dead.kill();
      }
      const openers = Array.from({ length: 8 }, () => machine.start(true).backend);
      const results = await Promise.allSettled(openers.map((backend) => backend.lock(KEY)));
      const winners = results.filter(({ status }) => status === "fulfilled");
      assert.equal(winners.length, 1, before);
      const temporaries = await collect(machine.start(true).backend.listTemporary(""));
      assert.deepEqual(temporaries, []);
    }
  });

  test("is its owner's as long as that holds the kernel's lock, whatever stands in its file", async () => {
    const machine = new Machine();
    const owner = machine.start(true);
    const lock = await owner.backend.lock(KEY);
    const handle = await owner.fileSystem.open(`/disk/store/${KEY}`, "update");
    await handle.write(new Uint8Array(512), 0);
    await handle.close();
    const error = await rejectsWith(() => machine.start(true).backend.lock(KEY), "job-busy");
    assert.match(error.message, /an unknown process owns the job/);
    await lock.close();
    await machine.start(true).backend.lock(KEY);
  });

  test("is not taken from who took it while another was at it, though neither has a kernel lock", async () => {
    const machine = new Machine();
    await leaveDead(machine);
    const slow = machine.start(false);
    const { open } = slow.fileSystem;
    const gate = newGate();
    slow.fileSystem.open = async (path, mode) => {
      if (mode === "create") await gate.opened;
      return await open(path, mode);
    };
    const late = slow.backend.lock(KEY);
    const quick = machine.start(false, { processId: 4711 });
    await quick.backend.lock(KEY);
    gate.open();
    const error = await rejectsWith(() => late, "job-busy");
    assert.equal(error.details.pid, 4711);
  });

  test("is the last one's where two replaced the same, though neither has a kernel lock", async () => {
    const machine = new Machine();
    await leaveDead(machine);
    const [before, after, otherGate] = [newGate(), newGate(), newGate()];
    const one = machine.start(false);
    const oneReached = renamesWait(one, before.opened, after.opened);
    const first = one.backend.lock(KEY);
    await oneReached;
    const other = machine.start(false, { processId: 4711 });
    const otherReached = renamesWait(other, otherGate.opened, Promise.resolve());
    const last = other.backend.lock(KEY);
    await otherReached;
    before.open();
    await turn();
    otherGate.open();
    await last;
    after.open();
    const error = await rejectsWith(() => first, "job-busy");
    assert.equal(error.details.pid, 4711);
  });

  test("fails as the file system does, and leaves no temporary", async () => {
    for (const kind of ["create", "write", "link"] as const) {
      const machine = new Machine();
      const owner = machine.start(true);
      machine.disk.addFault({ matches: (call) => call.kind === kind, error: "ENOSPC" });
      const error = await rejectsWith(() => owner.backend.lock(KEY), "storage-full");
      assert.match(error.message, /Cannot lock "\/disk\/store\/jobs\/j\/LOCK"/);
      assert.deepEqual(await collect(owner.backend.listTemporary("")), []);
      await (await owner.backend.lock(KEY)).close();
    }
  });

  test("is let go by the backend's close", async () => {
    const machine = new Machine();
    const owner = machine.start(true);
    await owner.backend.lock(KEY);
    await owner.backend.close();
    await machine.start(true).backend.lock(KEY);
  });
});
