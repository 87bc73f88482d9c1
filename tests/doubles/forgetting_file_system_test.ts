import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileSystem } from "../../src/engine/port/file_system.ts";
import { fileSystemConformance } from "../conformance/file_system.ts";
import { CrashedError, ForgettingDisk } from "./forgetting_file_system.ts";

for (const delayTurnsMax of [0, 4]) {
  fileSystemConformance(`ForgettingDisk with delays up to ${delayTurnsMax}`, () => {
    const disk = new ForgettingDisk({ seed: 5, delayTurnsMax });
    return Promise.resolve({
      fileSystem: disk.fileSystem(),
      folder: "/disk",
      release: () => Promise.resolve(),
    });
  }, { skipLinks: "the forgetting disk has no symbolic links" });
}

interface Steps {
  data?: boolean;
  name?: boolean;
}

async function write(fs: FileSystem, path: string, text: string, sync: Steps = {}): Promise<void> {
  const handle = await fs.open(path, "create");
  await handle.write(new TextEncoder().encode(text), 0);
  if (sync.data) await handle.datasync();
  if (sync.name) await syncNames(fs, path.slice(0, path.lastIndexOf("/")));
  await handle.close();
}

/** Syncs a folder through a handle that is opened now. */
async function syncNames(fs: FileSystem, path: string): Promise<void> {
  const directory = await fs.openDirectory(path);
  await directory.sync();
  await directory.close();
}

async function read(fs: FileSystem, path: string): Promise<string | undefined> {
  if (await fs.stat(path) === undefined) return undefined;
  const handle = await fs.open(path, "read");
  const target = new Uint8Array(1000);
  const text = new TextDecoder().decode(target.subarray(0, await handle.read(target, 0)));
  await handle.close();
  return text;
}

async function code(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

test("ForgettingDisk keeps through a power cut what was synced, and nothing else", async () => {
  const disk = new ForgettingDisk();
  const fs = disk.fileSystem();
  await write(fs, "/disk/both", "both", { data: true, name: true });
  await write(fs, "/disk/name", "name", { name: true });
  await write(fs, "/disk/data", "data", { data: true });
  await fs.mkdir("/disk/d");
  await write(fs, "/disk/d/f", "f", { data: true, name: true });
  disk.crash("power-cut");
  await assert.rejects(() => fs.stat("/disk/both"), CrashedError);
  const after = disk.fileSystem();
  assert.equal(await read(after, "/disk/both"), "both");
  assert.equal(await read(after, "/disk/name"), "");
  assert.equal(await read(after, "/disk/data"), undefined);
  assert.equal(await after.stat("/disk/d"), undefined, "its name was not synced");
});

test("ForgettingDisk gives back what was removed or replaced without a sync", async () => {
  const disk = new ForgettingDisk();
  const fs = disk.fileSystem();
  await write(fs, "/disk/a", "old", { data: true, name: true });
  await write(fs, "/disk/b", "gone", { data: true, name: true });
  await write(fs, "/disk/t", "new", { data: true });
  await fs.rename("/disk/t", "/disk/a");
  await fs.unlink("/disk/b");
  assert.equal(await read(fs, "/disk/a"), "new");
  disk.crash("power-cut");
  const after = disk.fileSystem();
  assert.equal(await read(after, "/disk/a"), "old");
  assert.equal(await read(after, "/disk/b"), "gone");
  const identities = new Set((await Promise.all(["a", "b"].map((name) => {
    return after.stat(`/disk/${name}`);
  }))).map((stat) => stat?.identity));
  assert.equal(identities.size, 2);
});

test("ForgettingDisk keeps all through kill -9, and forgets it at a power cut later", async () => {
  const disk = new ForgettingDisk();
  const fs = disk.fileSystem();
  const locked = await fs.open("/disk/lock", "create");
  assert.equal(locked.tryLock(), true);
  await write(fs, "/disk/f", "seen");
  disk.crash("kill");
  assert.equal(await code(locked.write(new Uint8Array(1), 0)), "ECRASHED");
  const after = disk.fileSystem();
  assert.equal(await read(after, "/disk/f"), "seen");
  const again = await after.open("/disk/lock", "update");
  assert.equal(again.tryLock(), true, "the kernel frees the locks of the dead");
  disk.crash("power-cut");
  assert.equal(await read(disk.fileSystem(), "/disk/f"), undefined);
});

test("ForgettingDisk loses by the seed, and the same seed loses the same", async () => {
  const outcomes = new Map<number, string>();
  for (const seed of [...Array(40).keys(), ...Array(40).keys()]) {
    const disk = new ForgettingDisk({ seed });
    const fs = disk.fileSystem();
    await write(fs, "/disk/safe", "safe", { data: true, name: true });
    for (const name of ["a", "b", "c"]) await write(fs, `/disk/${name}`, name.repeat(700));
    await write(fs, "/disk/named", "y".repeat(900), { name: true });
    disk.crash("random-power-cut");
    const after = disk.fileSystem();
    assert.equal(await read(after, "/disk/safe"), "safe", `seed ${seed}`);
    const found: (string | undefined)[] = [];
    for (const name of ["a", "b", "c", "named"]) found.push(await read(after, `/disk/${name}`));
    const outcome = JSON.stringify(found);
    assert.equal(outcomes.get(seed) ?? outcome, outcome, `seed ${seed}`);
    outcomes.set(seed, outcome);
  }
  assert.ok(new Set(outcomes.values()).size > 20, "seeds differ");
});

test("ForgettingDisk crashes at a call, before or after it takes effect", async () => {
  for (const when of ["before", "after"] as const) {
    const disk = new ForgettingDisk();
    const fs = disk.fileSystem();
    disk.crashAt(disk.calls + 1, when);
    assert.equal(await code(fs.mkdir("/disk/d")), "ECRASHED");
    assert.equal(await code(fs.mkdir("/disk/e")), "ECRASHED");
    assert.throws(() => fs.statSync("/disk"), CrashedError);
    assert.equal(disk.isHalted, true);
    disk.crash("kill");
    const after = disk.fileSystem();
    assert.equal((await after.stat("/disk/d"))?.type, when === "after" ? "directory" : undefined);
    assert.equal(await after.stat("/disk/e"), undefined);
  }
});

test("ForgettingDisk fails a call, before or after it takes effect, and logs it", async () => {
  const disk = new ForgettingDisk();
  const fs = disk.fileSystem();
  disk.failAt(1, "EIO");
  disk.failAt(2, "EIO", "after");
  assert.equal(await code(fs.mkdir("/disk/a")), "EIO");
  assert.equal(await code(fs.mkdir("/disk/b")), "EIO");
  assert.equal(await fs.stat("/disk/a"), undefined);
  assert.equal((await fs.stat("/disk/b"))?.type, "directory");
  disk.addFault({ matches: ({ kind }) => kind === "unlink", error: "EACCES", times: 2 });
  await write(fs, "/disk/f", "x");
  assert.equal(await code(fs.unlink("/disk/f")), "EACCES");
  assert.equal(await code(fs.unlink("/disk/f")), "EACCES");
  assert.equal(await code(fs.unlink("/disk/f")), undefined);
  assert.deepEqual(disk.log.slice(0, 2), [
    { number: 1, kind: "mkdir", path: "/disk/a", fault: "EIO" },
    { number: 2, kind: "mkdir", path: "/disk/b", fault: "EIO" },
  ]);
  assert.equal(disk.log.length, disk.calls);
});

test("ForgettingDisk's failed sync loses what it held, and later ones lie", async () => {
  const disk = new ForgettingDisk();
  const fs = disk.fileSystem();
  const handle = await fs.open("/disk/f", "create");
  await syncNames(fs, "/disk");
  await handle.write(new TextEncoder().encode("lost"), 0);
  disk.addFault({ matches: ({ kind }) => kind === "datasync", error: "EIO", losesPending: true });
  assert.equal(await code(handle.datasync()), "EIO");
  assert.equal(await code(handle.datasync()), undefined);
  assert.equal(await read(fs, "/disk/f"), "lost");
  await handle.write(new TextEncoder().encode("kept"), 4);
  await handle.datasync();
  disk.crash("power-cut");
  assert.equal(await read(disk.fileSystem(), "/disk/f"), "\0\0\0\0kept");
});

test("ForgettingDisk tells who had a folder open of a sync that lost its names, once", async () => {
  const disk = new ForgettingDisk();
  const [fs, other] = [disk.fileSystem(), disk.fileSystem()];
  const [failing, beside] = [await fs.openDirectory("/disk"), await other.openDirectory("/disk")];
  await write(fs, "/disk/lost", "x", { data: true });
  disk.addFault({
    matches: ({ kind }) => kind === "syncDirectory",
    error: "EIO",
    losesPending: true,
  });
  assert.equal(await code(failing.sync()), "EIO");
  assert.equal(await code(syncNames(fs, "/disk")), undefined, "opened later: it lies");
  await write(fs, "/disk/kept", "x", { data: true });
  assert.equal(await code(beside.sync()), "EIO");
  assert.equal(await code(beside.sync()), undefined, "it was told");
  assert.equal(await code(failing.sync()), undefined, "it was told");
  assert.equal(await read(fs, "/disk/lost"), "x");
  disk.crash("power-cut");
  const after = disk.fileSystem();
  assert.deepEqual(await after.readDirectory("/disk"), [{ name: "kept", type: "file" }]);
});

test("ForgettingDisk skips chosen syncs", async () => {
  const disk = new ForgettingDisk();
  disk.skip(({ kind, path }) => kind === "syncDirectory" && path === "/disk");
  await write(disk.fileSystem(), "/disk/f", "x", { data: true, name: true });
  assert.ok(disk.log.some(({ fault }) => fault === "skip"));
  disk.crash("power-cut");
  await write(disk.fileSystem(), "/disk/g", "x", { data: true, name: true });
  disk.crash("power-cut");
  assert.deepEqual(await disk.fileSystem().readDirectory("/disk"), []);
  disk.clearFaults();
  await write(disk.fileSystem(), "/disk/g", "x", { data: true, name: true });
  disk.crash("power-cut");
  assert.equal((await disk.fileSystem().readDirectory("/disk")).length, 1);
});

test("ForgettingDisk takes short writes and runs full", async () => {
  const disk = new ForgettingDisk();
  const fs = disk.fileSystem();
  const handle = await fs.open("/disk/f", "create");
  disk.shortWriteBytes = 3;
  assert.equal(await handle.write(new Uint8Array(10), 0), 3);
  disk.shortWriteBytes = 0;
  assert.equal(await handle.write(new Uint8Array(10), 3), 0);
  disk.shortWriteBytes = Infinity;
  disk.freeBytes = 5;
  assert.equal(await handle.write(new Uint8Array(10), 3), 5);
  assert.equal(await code(handle.write(new Uint8Array(10), 8)), "ENOSPC");
  assert.equal(await handle.write(new Uint8Array(8), 0), 8, "it has that room already");
  assert.equal((await fs.statFileSystem("/disk")).freeBytes, 0);
  await handle.close();
  await fs.unlink("/disk/f");
  assert.equal((await fs.statFileSystem("/disk")).freeBytes, 8);
});

test("ForgettingDisk reuses identities, unless a handle holds them", async () => {
  const fs = new ForgettingDisk().fileSystem();
  await write(fs, "/disk/a", "x");
  const first = (await fs.stat("/disk/a"))?.identity;
  await fs.unlink("/disk/a");
  await write(fs, "/disk/b", "x");
  assert.equal((await fs.stat("/disk/b"))?.identity, first);
  const held = await fs.open("/disk/b", "read");
  await fs.unlink("/disk/b");
  await write(fs, "/disk/c", "x");
  assert.notEqual((await fs.stat("/disk/c"))?.identity, first);
  await held.close();
});

test("ForgettingDisk ends one process and lets another go on", async () => {
  const disk = new ForgettingDisk();
  const [one, other] = [disk.fileSystem(), disk.fileSystem()];
  const lock = await one.open("/disk/l", "create");
  assert.equal(lock.tryLock(), true);
  const rival = await other.open("/disk/l", "update");
  assert.equal(rival.tryLock(), false);
  one.kill();
  assert.equal(await code(one.stat("/disk/l")), "ECRASHED");
  assert.equal(rival.tryLock(), true);
});
