/** What several writers in one folder may rely on when a sync of it fails and loses their names. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FileSystem } from "../../../src/engine/port/file_system.ts";
import type { StorageBackend } from "../../../src/engine/storage/backend.ts";
import { bytesOf, rejectsWith } from "../../conformance/storage_backend.ts";
import { type DiskFault, ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { posixOn, preparedPosixOn } from "../../doubles/posix_on_double.ts";

const FOLDER = "jobs/j";
const BYTES = bytesOf("x");
const SEEDS = 40;

/** Something that changes one name in the folder. */
interface Act {
  readonly what: string;
  /** Object that one of two writers does it to. */
  keyOf(writer: "first" | "second"): string;
  /** Whether the object is there when it was done. */
  readonly isThereAfter: boolean;
  /** What is said of the object when the name could not be synced. */
  readonly outcome: "unknown" | "not-applied";
  run(backend: StorageBackend, key: string): Promise<unknown>;
}

const CREATING = {
  isThereAfter: true,
  outcome: "unknown",
  keyOf: (writer: string) => `${FOLDER}/${writer}`,
} as const;

const PUT: Act = { ...CREATING, what: "put", run: (backend, key) => backend.put(key, BYTES) };

const PUT_IF_ABSENT: Act = {
  ...CREATING,
  what: "putIfAbsent",
  run: (backend, key) => backend.putIfAbsent(key, BYTES),
};

const APPEND: Act = {
  ...CREATING,
  what: "an appender's first sync",
  run: async (backend, key) => {
    const appender = await backend.createAppender(key);
    await appender.write(BYTES);
    await appender.sync();
  },
};

const PUT_IN_NEW_FOLDER: Act = {
  what: "put in a new folder",
  keyOf: (writer) => `${FOLDER}/${writer}/k`,
  isThereAfter: true,
  outcome: "not-applied",
  run: (backend, key) => backend.put(key, BYTES),
};

const DELETE: Act = {
  what: "delete",
  keyOf: (writer) => `${FOLDER}/old-${writer}`,
  isThereAfter: false,
  outcome: "unknown",
  run: (backend, key) => backend.delete(key),
};

const ACTS: readonly Act[] = [PUT, PUT_IF_ABSENT, APPEND, PUT_IN_NEW_FOLDER, DELETE];

class Signal {
  give: () => void = () => {};
  readonly given: Promise<void> = new Promise((resolve) => this.give = resolve);
}

/** Has something done after every call that changes the name `path`, before the caller goes on. */
function afterNaming(fileSystem: FileSystem, path: string, then: () => Promise<void>): void {
  const thenIf = async (isNamed: boolean) => {
    if (isNamed) await then();
  };
  const { link, rename, unlink, mkdir, open } = fileSystem;
  fileSystem.link = async (from, to) => {
    await link.call(fileSystem, from, to);
    await thenIf(to === path);
  };
  fileSystem.rename = async (from, to) => {
    await rename.call(fileSystem, from, to);
    await thenIf(to === path);
  };
  fileSystem.unlink = async (gone) => {
    await unlink.call(fileSystem, gone);
    await thenIf(gone === path);
  };
  fileSystem.mkdir = async (made) => {
    await mkdir.call(fileSystem, made);
    await thenIf(made === path);
  };
  fileSystem.open = async (opened, mode) => {
    const handle = await open.call(fileSystem, opened, mode);
    await thenIf(opened === path && mode === "create");
    return handle;
  };
}

/** Has something done around every sync of a folder. */
function aroundSync(fileSystem: FileSystem, before: Promise<void>, after: () => void): void {
  const { openDirectory } = fileSystem;
  fileSystem.openDirectory = async (path) => {
    const directory = await openDirectory.call(fileSystem, path);
    return {
      sync: () => before.then(() => directory.sync()).finally(after),
      close: () => directory.close(),
    };
  };
}

/** Opens folders only when they are synced. */
function openLate(fileSystem: FileSystem): void {
  const { openDirectory } = fileSystem;
  fileSystem.openDirectory = (path) =>
    Promise.resolve({
      async sync() {
        const directory = await openDirectory.call(fileSystem, path);
        await directory.sync();
      },
      close: () => Promise.resolve(),
    });
}

function losing(matches: DiskFault["matches"]): DiskFault {
  return { matches, error: "EIO", losesPending: true };
}

/** A process that has used the folder: no sync is about the folder's own name any more. */
async function processOn(disk: ForgettingDisk): Promise<[StorageBackend, FileSystem]> {
  const fileSystem = disk.fileSystem();
  const backend = posixOn(disk, { fileSystem });
  await backend.put(`${FOLDER}/used`, BYTES);
  return [backend, fileSystem];
}

interface SecondResult {
  readonly settled: PromiseSettledResult<unknown>;
  /** Whether what it did was there after a power cut. */
  readonly hasLasted: boolean;
}

/** Two processes change a name each; the first one's sync fails before the second one goes on. */
async function runSecond(first: Act, second: Act, isLate: boolean): Promise<SecondResult> {
  const disk = new ForgettingDisk();
  const before = await preparedPosixOn(disk);
  for (const writer of ["first", "second"] as const) await before.put(DELETE.keyOf(writer), BYTES);
  const [backend, fileSystem] = await processOn(disk);
  const [otherBackend, otherFileSystem] = await processOn(disk);
  const [named, failed] = [new Signal(), new Signal()];
  const key = second.keyOf("second");
  const name = key.split("/")[2];
  aroundSync(fileSystem, named.given, failed.give);
  if (isLate) openLate(otherFileSystem);
  afterNaming(otherFileSystem, `/disk/store/${FOLDER}/${name}`, () => {
    named.give();
    return failed.given;
  });
  disk.addFault(losing(({ kind, path }) => {
    return kind === "syncDirectory" && path === `/disk/store/${FOLDER}`;
  }));
  const [beside, settled] = await Promise.allSettled([
    first.run(backend, first.keyOf("first")),
    second.run(otherBackend, key),
  ]);
  assert.equal(beside.status, "rejected");
  disk.crash("power-cut");
  return {
    settled,
    hasLasted: (await posixOn(disk).head(key) !== undefined) === second.isThereAfter,
  };
}

describe("PosixBackend, when another's failed sync has lost its name", () => {
  for (const act of ACTS) {
    test(`is told in ${act.what}`, async () => {
      for (const beside of ACTS) {
        const { settled, hasLasted } = await runSecond(beside, act, false);
        assert.equal(settled.status, "rejected", `beside ${beside.what}`);
        const { code, outcome } = (settled as PromiseRejectedResult).reason;
        assert.equal(code, "storage-unavailable", `beside ${beside.what}`);
        assert.equal(outcome, act.outcome, `beside ${beside.what}`);
        assert.equal(hasLasted, false, `beside ${beside.what}`);
      }
    });

    test(`would not be told in ${act.what} had it opened the folder after`, async () => {
      for (const beside of ACTS) {
        const { settled, hasLasted } = await runSecond(beside, act, true);
        assert.equal(settled.status, "fulfilled", `beside ${beside.what}`);
        assert.equal(hasLasted, false, `beside ${beside.what}`);
      }
    });
  }
});

/** Some calls at once on one backend, and one folder sync that fails; answers how many calls failed. */
async function runMany(
  seed: number,
  failing: number,
  calls: readonly (readonly [Act, string])[],
): Promise<number> {
  const disk = new ForgettingDisk({ seed, delayTurnsMax: seed % 5 * 8 });
  const backend = await preparedPosixOn(disk);
  let syncs = 0;
  disk.addFault(losing(({ kind }) => kind === "syncDirectory" && ++syncs === failing));
  const run = ([act, key]: readonly [Act, string]) => act.run(backend, key);
  const settled = await Promise.allSettled(calls.map(run));
  // What failed is made anew by whoever comes next.
  await backend.put("new/a/next", BYTES);
  disk.crash("power-cut");
  const wanted = ["new/a/next"];
  for (const [index, { status }] of settled.entries()) {
    if (status === "fulfilled") wanted.push(calls[index][1]);
  }
  for (const key of wanted) {
    assert.ok(await posixOn(disk).head(key), `seed ${seed}, sync ${failing} failed: no ${key}`);
  }
  return settled.filter(({ status }) => status === "rejected").length;
}

test("PosixBackend has many calls at once return only what lasts", async () => {
  let told = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    for (let failing = 1; failing <= 6; failing++) {
      told += await runMany(seed, failing, [
        [PUT, "new/a/1"],
        [PUT_IF_ABSENT, "new/a/2"],
        [APPEND, "new/a/3"],
        [PUT, "new/4"],
        [PUT_IF_ABSENT, "new/b/5"],
        [APPEND, "new/b/6"],
      ]);
    }
  }
  assert.ok(told > SEEDS * 6, `only ${told} calls were told of ${SEEDS * 6} failures`);
});

test("PosixBackend does not use a folder that it found and could not sync", async () => {
  const disk = new ForgettingDisk();
  await (await preparedPosixOn(disk)).put(`${FOLDER}/k`, BYTES);
  const backend = posixOn(disk);
  disk.addFault(losing(({ kind, path }) => {
    return kind === "syncDirectory" && path === "/disk/store/jobs";
  }));
  for (const reason of [/EIO/, /could not be synced, so nothing in it is safe/]) {
    const error = await rejectsWith(() => backend.put(`${FOLDER}/k`, BYTES), "storage-unavailable");
    assert.match(error.message, reason);
    assert.equal(error.outcome, "not-applied");
  }
});
