/** What a folder may hold besides objects, and links, on a real disk. */
import assert from "node:assert/strict";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { PosixBackend } from "../../../src/engine/storage/posix_backend.ts";
import { chooseFileSystem } from "../../../src/runtime/choose_file_system.ts";
import { bytesOf, collect, rejectsWith, textOf } from "../../conformance/storage_backend.ts";
import { fixedProcessInfo } from "../../doubles/fixed_process_info.ts";
import { ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { preparedPosixOn } from "../../doubles/posix_on_double.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { SeededRandom } from "../../doubles/seeded_random.ts";
import { temporaryFolder } from "../../runtime/temporary_folder.ts";

function backendIn(root: string): PosixBackend {
  return new PosixBackend({
    root,
    fileSystem: chooseFileSystem(),
    clock: new ManualClock(),
    random: new SeededRandom(1),
    process: fixedProcessInfo(),
    logger: new RecordingLogger(),
  });
}

async function keysIn(backend: PosixBackend, prefix: string): Promise<string[]> {
  return (await collect(backend.list(prefix))).map(({ key }) => key);
}

describe("PosixBackend.list", () => {
  test("shows files that are no keys, so that no folder seems empty that is not", async () => {
    await using folder = await temporaryFolder();
    await writeFile(`${folder.path}/my file.txt`, "x");
    const backend = backendIn(folder.path);
    assert.deepEqual(await keysIn(backend, ""), ["my file.txt"]);
    await rejectsWith(() => backend.get("my file.txt"), "invalid-name");
  });

  test("passes over temporary names, empty folders and the file system's own folder", async () => {
    await using folder = await temporaryFolder();
    await mkdir(`${folder.path}/lost+found`);
    await writeFile(`${folder.path}/lost+found/#123`, "x");
    await mkdir(`${folder.path}/empty/deep`, { recursive: true });
    const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
    await writeFile(`${folder.path}/empty/.tmp-reader-${uuid}`, "12");
    await writeFile(`${folder.path}/empty/.tmp-`, "not one of ours");
    const backend = backendIn(folder.path);
    assert.deepEqual(await keysIn(backend, ""), []);
    assert.deepEqual(await collect(backend.listTemporary("", { isShallow: true })), []);
    const shallow = await collect(backend.listTemporary("empty/", { isShallow: true }));
    assert.deepEqual(shallow.map(({ key }) => key), [`empty/.tmp-reader-${uuid}`]);
    const temporaries = await collect(backend.listTemporary("empty/"));
    assert.deepEqual(
      temporaries.map(({ key, tag, size }) => [key, tag, size]),
      [[`empty/.tmp-reader-${uuid}`, "reader", 2]],
    );
    for (const key of ["empty/.tmp-", "empty/deep", `../.tmp-reader-${uuid}`, "empty/x"]) {
      await rejectsWith(() => backend.deleteTemporary(key), "invalid-name");
    }
  });

  test("passes over names that vanish between the listing and the look-up", async () => {
    const disk = new ForgettingDisk();
    const fileSystem = disk.fileSystem();
    const backend = await preparedPosixOn(disk, { fileSystem });
    for (const key of ["a/1", "a/2", "a/3/x", "a/4"]) await backend.put(key, bytesOf("x"));
    const other = disk.fileSystem();
    const readDirectory = fileSystem.readDirectory.bind(fileSystem);
    fileSystem.readDirectory = async (path) => {
      const entries = await readDirectory(path);
      if (path.endsWith("/a")) {
        await other.unlink("/disk/store/a/2");
        await other.unlink("/disk/store/a/3/x");
        await other.rmdir("/disk/store/a/3");
      }
      return entries;
    };
    assert.deepEqual(await keysIn(backend, "a/"), ["a/1", "a/4"]);
  });

  test("asks what an entry is where the listing does not say", async () => {
    const disk = new ForgettingDisk();
    const fileSystem = disk.fileSystem();
    const backend = await preparedPosixOn(disk, { fileSystem });
    for (const key of ["a/1", "a/b/2"]) await backend.put(key, bytesOf("x"));
    const readDirectory = fileSystem.readDirectory.bind(fileSystem);
    fileSystem.readDirectory = async (path) =>
      (await readDirectory(path)).map(({ name }) => ({ name, type: "other" }));
    assert.deepEqual(await keysIn(backend, ""), ["a/1", "a/b/2"]);
  });
});

describe("PosixBackend and symbolic links", () => {
  test("the root may be reached by one", async () => {
    await using folder = await temporaryFolder();
    await mkdir(`${folder.path}/real`);
    await symlink(`${folder.path}/real`, `${folder.path}/link`);
    const backend = backendIn(`${folder.path}/link`);
    await backend.prepare({ create: true });
    assert.equal(backend.location, await realpath(`${folder.path}/real`));
    await backend.put("a/b", bytesOf("x"));
    const pinned = await backend.pin("a/b");
    assert.equal(pinned.isCurrent(), true);
    await pinned.close();
    assert.equal(textOf(await backendIn(`${folder.path}/real`).get("a/b")), "x");
  });

  test("a folder that is one is refused, wherever it leads", async () => {
    await using folder = await temporaryFolder();
    const root = `${folder.path}/store`;
    await mkdir(`${root}/inside`, { recursive: true });
    await mkdir(`${folder.path}/outside`);
    await writeFile(`${folder.path}/outside/k`, "secret");
    for (const target of [`${folder.path}/outside`, "../outside", `${root}/inside`]) {
      const name = `link${target.length}`;
      await symlink(target, `${root}/${name}`);
      const backend = backendIn(root);
      for (
        const call of [
          () => backend.get(`${name}/k`),
          () => backend.head(`${name}/k`),
          () => backend.pin(`${name}/k`),
          () => backend.delete(`${name}/k`),
          () => backend.put(`${name}/k`, bytesOf("x")),
          () => backend.putIfAbsent(`${name}/k`, bytesOf("x")),
          () => backend.put(`${name}/deep/er`, bytesOf("x")),
          () => backend.createAppender(`${name}/k2`),
          () => backend.lock(`${name}/LOCK`),
          () => collect(backend.list(`${name}/`)),
          () => collect(backend.list("")),
        ]
      ) {
        const error = await rejectsWith(call, "symbolic-link");
        assert.match(error.message, /"[^"]*\/link\d+" is a symbolic link/);
      }
    }
    assert.equal(textOf(await backendIn(folder.path).get("outside/k")), "secret");
    assert.deepEqual(await keysIn(backendIn(`${folder.path}/outside`), ""), ["k"]);
  });

  test("a file that is one is never read, written or held through", async () => {
    await using folder = await temporaryFolder();
    const root = `${folder.path}/store`;
    await mkdir(root);
    await writeFile(`${folder.path}/secret`, "secret");
    await symlink(`${folder.path}/secret`, `${root}/k`);
    const backend = backendIn(root);
    for (
      const call of [
        () => backend.get("k"),
        () => backend.head("k"),
        () => backend.pin("k"),
        () => collect(backend.list("")),
      ]
    ) await rejectsWith(call, "symbolic-link");
    await rejectsWith(() => backend.createAppender("k"), "object-exists");
    assert.equal(await backend.putIfAbsent("k", bytesOf("x")), "exists");
    await backend.put("k", bytesOf("own"));
    assert.equal(textOf(await backend.get("k")), "own");
    assert.equal(textOf(await backendIn(folder.path).get("secret")), "secret");
  });

  test("one to a file of the store, or to nothing, is no object", async () => {
    await using folder = await temporaryFolder();
    const backend = backendIn(folder.path);
    await backend.put("a", bytesOf("x"));
    await symlink(`${folder.path}/a`, `${folder.path}/to-a`);
    await symlink(`${folder.path}/none`, `${folder.path}/to-none`);
    assert.deepEqual(await keysIn(backend, ""), ["a"]);
  });
});
