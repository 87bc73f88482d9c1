import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bytesOf, collect, rejectsWith } from "../../conformance/storage_backend.ts";
import { type DiskCall, ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { posixOn, preparedPosixOn } from "../../doubles/posix_on_double.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";

const NETWORK: readonly [number, RegExp][] = [
  [0x6969, /NFS/],
  [0xff534d42, /CIFS/],
  [0xfe534d42 | 0, /SMB/],
  [0x01021997, /9p/],
  [0x00c36400, /Ceph/],
  [0x5346414f, /AFS/],
  [0x0bd00bd0, /Lustre/],
  [0x65735546, /FUSE \(GlusterFS/],
];

function ofKind(kind: DiskCall["kind"]): (call: DiskCall) => boolean {
  return (call) => call.kind === kind;
}

describe("PosixBackend.prepare", () => {
  test("makes the folder and those above it, durably", async () => {
    const disk = new ForgettingDisk();
    await preparedPosixOn(disk, { root: "/disk/a/b/store" });
    disk.crash("power-cut");
    assert.equal((await disk.fileSystem().stat("/disk/a/b/store"))?.type, "directory");
  });

  test("makes nothing unless it is told to", async () => {
    const disk = new ForgettingDisk();
    await rejectsWith(() => posixOn(disk).prepare({ create: false }), "store-not-found");
    assert.equal(await disk.fileSystem().stat("/disk/store"), undefined);
    await preparedPosixOn(disk);
    await posixOn(disk).prepare({ create: false });
  });

  test("refuses a file in the folder's place", async () => {
    const disk = new ForgettingDisk();
    await (await disk.fileSystem().open("/disk/store", "create")).close();
    const error = await rejectsWith(() => preparedPosixOn(disk), "not-a-store");
    assert.match(error.message, /"\/disk\/store" is not a folder/);
  });

  test("refuses network file systems by name, and leaves nothing in them", async () => {
    for (const [type, name] of NETWORK) {
      const disk = new ForgettingDisk({ type });
      const error = await rejectsWith(() => preparedPosixOn(disk), "unsupported-file-system");
      assert.match(error.message, name);
      assert.match(error.message, /choose a folder on a local disk/);
      assert.deepEqual(await disk.fileSystem().readDirectory("/disk/store"), []);
    }
  });

  test("warns of file systems that are lost with the machine", async () => {
    for (const [type, name] of [[0x01021994, /tmpfs/], [0x794c7630, /overlay/]] as const) {
      const logger = new RecordingLogger();
      const backend = await preparedPosixOn(new ForgettingDisk({ type }), { logger });
      assert.match(logger.messages("warning").join(), name);
      await backend.prepare({ create: true });
      assert.equal(logger.records.length, 1, "it checks once");
    }
    const logger = new RecordingLogger();
    await preparedPosixOn(new ForgettingDisk(), { logger });
    assert.deepEqual(logger.records, []);
  });

  test("refuses file systems that lack what the protocols need", async () => {
    const lacks: readonly [DiskCall["kind"], string, RegExp, string?][] = [
      ["link", "EPERM", /has no hard links/],
      ["link", "EOPNOTSUPP", /has no hard links/],
      ["syncDirectory", "EINVAL", /can't sync folders/, "/disk/store"],
    ];
    for (const [kind, errno, message, path] of lacks) {
      const disk = new ForgettingDisk();
      disk.addFault({
        matches: (call) => call.kind === kind && (path === undefined || call.path === path),
        error: errno,
      });
      const error = await rejectsWith(() => preparedPosixOn(disk), "unsupported-file-system");
      assert.match(error.message, message);
      assert.deepEqual(await collect(posixOn(disk).listTemporary("")), []);
    }
  });

  test("refuses a file system whose exclusive create or link is not", async () => {
    const disk = new ForgettingDisk();
    const fileSystem = disk.fileSystem();
    const open = fileSystem.open.bind(fileSystem);
    fileSystem.open = async (path, mode) => {
      const isThere = await fileSystem.stat(path) !== undefined;
      return await open(path, isThere && mode === "create" ? "update" : mode);
    };
    const error = await rejectsWith(
      () => preparedPosixOn(disk, { fileSystem }),
      "unsupported-file-system",
    );
    assert.match(error.message, /has no exclusive create/);
    const other = disk.fileSystem();
    other.link = () => Promise.resolve();
    await rejectsWith(
      () => preparedPosixOn(disk, { fileSystem: other }),
      "unsupported-file-system",
    );
  });

  test("tries again after a failure, and removes what its checks made", async () => {
    const disk = new ForgettingDisk();
    const backend = posixOn(disk);
    for (const kind of ["mkdir", "realPath", "statFileSystem", "create", "link"] as const) {
      disk.addFault({ matches: ofKind(kind), error: "EIO" });
      await rejectsWith(() => backend.prepare({ create: true }), "storage-unavailable");
    }
    await backend.prepare({ create: true });
    assert.deepEqual(await disk.fileSystem().readDirectory("/disk/store"), []);
    await backend.put("a", bytesOf("x"));
  });

  test("goes without folders above that it may not open or sync", async () => {
    for (const [kind, error] of [["openDirectory", "EACCES"], ["syncDirectory", "EINVAL"]]) {
      const disk = new ForgettingDisk();
      disk.addFault({
        matches: (call) => call.kind === kind && call.path === "/disk",
        error,
        times: 2,
      });
      await preparedPosixOn(disk);
      const syncs = disk.log.filter((call) => {
        return call.kind === "syncDirectory" && call.fault === undefined;
      });
      assert.deepEqual(syncs.map(({ path }) => path), ["/disk/store"], kind);
    }
  });

  test("makes a folder anew whose name it could not sync", async () => {
    const disk = new ForgettingDisk();
    disk.addFault({
      matches: ({ kind, path }) => kind === "syncDirectory" && path === "/disk",
      error: "EIO",
      losesPending: true,
    });
    const backend = posixOn(disk);
    await rejectsWith(() => backend.prepare({ create: true }), "storage-unavailable");
    await backend.prepare({ create: true });
    disk.crash("power-cut");
    assert.equal((await disk.fileSystem().stat("/disk/store"))?.type, "directory");
  });
});
