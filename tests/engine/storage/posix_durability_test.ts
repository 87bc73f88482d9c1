/** What is on disk when a call has returned, and what may be found when it has not. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { readOptional } from "../../../src/engine/storage/derived.ts";
import { bytesOf, collect, textOf } from "../../conformance/storage_backend.ts";
import {
  CHANGING_CALLS,
  type CrashMode,
  ForgettingDisk,
  SYNC_CALLS,
} from "../../doubles/forgetting_file_system.ts";
import { posixOn, preparedPosixOn } from "../../doubles/posix_on_double.ts";

const KEY = "jobs/j/catalog/k";
const MODES: readonly CrashMode[] = ["kill", "power-cut", "random-power-cut"];

/** Changes of a store, each with what may be read before and after. */
interface Scenario {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Syncs without which a power cut takes the change back; others are of folders that were there before. */
  readonly syncsNeeded: number;
  run(backend: StorageBackend): Promise<void>;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "put of a new key",
    before: undefined,
    after: "new",
    syncsNeeded: 5,
    run: (backend) => backend.put(KEY, bytesOf("new")),
  },
  {
    name: "put over an object",
    before: "old",
    after: "new",
    syncsNeeded: 2,
    run: (backend) => backend.put(KEY, bytesOf("new")),
  },
  {
    name: "putIfAbsent",
    before: undefined,
    after: "new",
    syncsNeeded: 5,
    run: async (backend) => {
      assert.equal(await backend.putIfAbsent(KEY, bytesOf("new")), "created");
    },
  },
  {
    name: "delete",
    before: "old",
    after: undefined,
    syncsNeeded: 1,
    run: async (backend) => {
      assert.equal(await backend.delete(KEY), true);
    },
  },
  {
    name: "deleteMany",
    before: "old",
    after: undefined,
    syncsNeeded: 1,
    run: async (backend) => {
      assert.deepEqual(await backend.deleteMany!([KEY], () => {}), []);
    },
  },
];

async function startWith(before: string | undefined, seed: number): Promise<ForgettingDisk> {
  const disk = new ForgettingDisk({ seed });
  const backend = await preparedPosixOn(disk);
  if (before !== undefined) await backend.put(KEY, bytesOf(before));
  disk.crash("power-cut");
  return disk;
}

async function found(disk: ForgettingDisk): Promise<string | undefined> {
  const bytes = await readOptional(posixOn(disk), KEY);
  return bytes === undefined ? undefined : textOf(bytes);
}

async function callsOf({ before, run }: Scenario): Promise<{ first: number; last: number }> {
  const disk = await startWith(before, 1);
  const backend = posixOn(disk);
  const first = disk.calls + 1;
  await run(backend);
  return { first, last: disk.calls };
}

for (const scenario of SCENARIOS) {
  describe(`PosixBackend ${scenario.name}`, () => {
    test(`${scenario.name} is durable when it returns`, async () => {
      for (const mode of MODES) {
        const disk = await startWith(scenario.before, 7);
        await scenario.run(posixOn(disk));
        disk.crash(mode);
        assert.equal(await found(disk), scenario.after, mode);
      }
    });

    test(`${scenario.name} leaves all or nothing at a crash in any call`, async () => {
      const { first, last } = await callsOf(scenario);
      for (let number = first; number <= last; number++) {
        for (const when of ["before", "after"] as const) {
          for (const mode of MODES) {
            const place = `seed ${number}, crash ${when} call ${number}, ${mode}`;
            const disk = await startWith(scenario.before, number);
            disk.crashAt(number, when);
            const isDone = await scenario.run(posixOn(disk)).then(() => true, () => false);
            disk.crash(mode);
            const value = await found(disk);
            assert.ok(
              value === scenario.after || (value === scenario.before && !isDone),
              `${place}: found ${value}`,
            );
          }
        }
      }
    });

    test(`${scenario.name} is lost without any one of its syncs`, async () => {
      const whole = await startWith(scenario.before, 1);
      const from = whole.calls;
      await scenario.run(posixOn(whole));
      const syncs = whole.log.slice(from).filter(({ kind }) => SYNC_CALLS.has(kind));
      let losses = 0;
      for (const { number } of syncs) {
        const disk = await startWith(scenario.before, 1);
        disk.skip((call) => call.number === number);
        await scenario.run(posixOn(disk));
        disk.crash("power-cut");
        if (await found(disk) !== scenario.after) losses++;
      }
      assert.equal(losses, scenario.syncsNeeded);
    });
  });
}

test("PosixBackend syncs data before the name, and the name before it returns", async () => {
  const disk = await startWith("old", 1);
  const backend = posixOn(disk);
  await backend.put(KEY, bytesOf("older"));
  const kinds = async (run: () => Promise<unknown>) => {
    const from = disk.calls;
    await run();
    return disk.log.slice(from).filter(({ kind }) => CHANGING_CALLS.has(kind)).map(({ kind }) =>
      kind
    );
  };
  assert.deepEqual(await kinds(() => backend.put(KEY, bytesOf("x"))), [
    "create",
    "write",
    "datasync",
    "rename",
    "syncDirectory",
  ]);
  assert.deepEqual(await kinds(() => backend.putIfAbsent(`${KEY}2`, bytesOf("x"))), [
    "create",
    "write",
    "datasync",
    "link",
    "syncDirectory",
    "unlink",
  ]);
  assert.deepEqual(await kinds(() => backend.delete(KEY)), ["unlink", "syncDirectory"]);
  await backend.put(KEY, bytesOf("newer"));
  assert.deepEqual(await kinds(() => backend.delete(KEY, { mayComeBack: true })), ["unlink"]);
  await backend.put(KEY, bytesOf("newest"));
  const keys = [KEY, `${KEY}-absent`];
  assert.deepEqual(await kinds(() => backend.deleteMany!(keys, () => {})), [
    "unlink",
    "unlink",
    "syncDirectory",
  ]);
});

test("PosixBackend's appender syncs its folder once, after the data", async () => {
  const disk = await startWith("old", 1);
  const appender = await posixOn(disk).createAppender("jobs/j/catalog/log");
  const from = disk.calls;
  for (const text of ["one", "two"]) {
    await appender.write(bytesOf(text));
    await appender.sync();
  }
  await appender.close();
  assert.deepEqual(disk.log.slice(from).map(({ kind }) => kind), [
    "write",
    "datasync",
    "syncDirectory",
    "close",
    "write",
    "datasync",
    "close",
  ]);
});

test("PosixBackend's appender keeps what was synced, whatever comes after", async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const disk = new ForgettingDisk({ seed });
    const appender = await (await preparedPosixOn(disk)).createAppender("a/b/log");
    await appender.write(bytesOf("safe"));
    await appender.sync();
    await appender.write(bytesOf("perhaps"));
    disk.crash("random-power-cut");
    const text = textOf(await posixOn(disk).get("a/b/log"));
    assert.ok(text.startsWith("safe"), `seed ${seed}: ${text}`);
    assert.ok(text.length <= "safeperhaps".length, `seed ${seed}: ${text}`);
  }
});

test("PosixBackend makes names durable that a dead process left unsynced", async () => {
  const calls = async (number?: number) => {
    const disk = new ForgettingDisk();
    if (number !== undefined) disk.crashAt(number, "after");
    const run = async () => {
      const backend = await preparedPosixOn(disk, { root: "/disk/a/b/store" });
      await backend.put(KEY, bytesOf("first"));
    };
    await run().catch((error) => {
      if (number === undefined) throw error;
    });
    return disk;
  };
  const { calls: last } = await calls();
  for (let number = 1; number <= last; number++) {
    const disk = await calls(number);
    disk.crash("kill");
    const backend = await preparedPosixOn(disk, { root: "/disk/a/b/store" });
    await backend.put(KEY, bytesOf("second"));
    disk.crash("power-cut");
    const after = posixOn(disk, { root: "/disk/a/b/store" });
    assert.equal(textOf(await after.get(KEY)), "second", `killed after call ${number}`);
  }
});

test("PosixBackend's crashes leave temporary names that carry their tag", async () => {
  const disk = await startWith("old", 1);
  const backend = posixOn(disk);
  disk.addFault({ matches: ({ kind }) => kind === "rename", error: "crash" });
  await assert.rejects(() => backend.put(KEY, bytesOf("new"), { tag: "00000000000000000007" }));
  disk.crash("kill");
  const after = posixOn(disk);
  const [temporary, ...others] = await collect(after.listTemporary("jobs/"));
  assert.equal(temporary.tag, "00000000000000000007");
  assert.equal(temporary.size, 3);
  assert.deepEqual(others, []);
  assert.deepEqual((await collect(after.list(""))).map(({ key }) => key), [KEY]);
  await after.deleteTemporary(temporary.key);
  await after.deleteTemporary(temporary.key);
  assert.deepEqual(await collect(after.listTemporary("")), []);
});
