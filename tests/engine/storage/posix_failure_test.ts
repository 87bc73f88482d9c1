/** What the POSIX backend says and leaves when a call of the file system fails. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ErrorCode, TidemarkError } from "../../../src/engine/errors.ts";
import { readOptional } from "../../../src/engine/storage/derived.ts";
import type { PosixBackend } from "../../../src/engine/storage/posix_backend.ts";
import { bytesOf, collect, rejectsWith, textOf } from "../../conformance/storage_backend.ts";
import {
  CHANGING_CALLS,
  type DiskCall,
  ForgettingDisk,
} from "../../doubles/forgetting_file_system.ts";
import { posixOn, preparedPosixOn } from "../../doubles/posix_on_double.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";

const KEY = "jobs/j/k";

async function prepared(): Promise<{ disk: ForgettingDisk; backend: PosixBackend }> {
  const disk = new ForgettingDisk();
  const backend = await preparedPosixOn(disk);
  await backend.put("jobs/j/other", bytesOf("other"));
  return { disk, backend };
}

function ofKind(kind: DiskCall["kind"]): (call: DiskCall) => boolean {
  return (call) => call.kind === kind;
}

describe("PosixBackend writes in full", () => {
  test("put and appender go on after short writes", async () => {
    const { disk, backend } = await prepared();
    disk.shortWriteBytes = 3;
    await backend.put(KEY, bytesOf("0123456789"));
    const appender = await backend.createAppender("jobs/j/log");
    await appender.write(bytesOf("abcdefgh"));
    await appender.write(bytesOf("ij"));
    await appender.sync();
    assert.equal(textOf(await backend.get(KEY)), "0123456789");
    assert.equal(textOf(await backend.get("jobs/j/log")), "abcdefghij");
    assert.equal(appender.length, 10);
  });

  test("a write that takes nothing is an error, not a loop", async () => {
    const { disk, backend } = await prepared();
    const appender = await backend.createAppender("jobs/j/log");
    disk.shortWriteBytes = 0;
    const error = await rejectsWith(() => backend.put(KEY, bytesOf("x")), "storage-unavailable");
    assert.match(error.message, /took none of the bytes/);
    assert.equal(error.outcome, "not-applied");
    await rejectsWith(() => appender.write(bytesOf("x")), "storage-unavailable");
  });
});

describe("PosixBackend tells whether a failed write took effect", () => {
  const steps: readonly [DiskCall["kind"], "put" | "putIfAbsent", "not-applied" | "unknown"][] = [
    ["create", "put", "not-applied"],
    ["write", "put", "not-applied"],
    ["datasync", "put", "not-applied"],
    ["rename", "put", "unknown"],
    ["syncDirectory", "put", "unknown"],
    ["create", "putIfAbsent", "not-applied"],
    ["write", "putIfAbsent", "not-applied"],
    ["datasync", "putIfAbsent", "not-applied"],
    ["link", "putIfAbsent", "unknown"],
    ["syncDirectory", "putIfAbsent", "unknown"],
  ];
  for (const [kind, action, outcome] of steps) {
    for (const when of ["before", "after"] as const) {
      test(`${action} with a ${kind} that fails ${when} its effect is ${outcome}`, async () => {
        const { disk, backend } = await prepared();
        disk.addFault({ matches: ofKind(kind), error: "EIO", when });
        const error = await rejectsWith(
          () => backend[action](KEY, bytesOf("new")),
          "storage-unavailable",
        );
        assert.equal(error.outcome, outcome);
        assert.equal(error.details.errno, "EIO");
        assert.match(error.message, /"\/disk\/store\/jobs\/j\/k".*EIO/);
        const found = await readOptional(backend, KEY);
        if (outcome === "not-applied") assert.equal(found, undefined);
        // A create that took effect but failed leaves its name to the sweep.
        const isLeft = kind === "create" && when === "after";
        assert.equal((await collect(backend.listTemporary(""))).length, isLeft ? 1 : 0);
        await backend.put(KEY, bytesOf("later"));
        assert.equal(textOf(await backend.get(KEY)), "later");
      });
    }
  }

  test("a temporary that can't be removed fails nothing, and is logged", async () => {
    const disk = new ForgettingDisk();
    const logger = new RecordingLogger();
    const backend = await preparedPosixOn(disk, { logger });
    disk.addFault({ matches: ofKind("unlink"), error: "EIO" });
    assert.equal(await backend.putIfAbsent(KEY, bytesOf("x")), "created");
    assert.equal(logger.messages("warning").length, 1);
    assert.equal((await collect(backend.listTemporary(""))).length, 1);
  });

  test("every failed change of a delete is unknown or undone", async () => {
    for (const kind of ["unlink", "syncDirectory"] as const) {
      const { disk, backend } = await prepared();
      disk.addFault({ matches: ofKind(kind), error: "EIO" });
      const error = await rejectsWith(() => backend.delete("jobs/j/other"), "storage-unavailable");
      assert.equal(error.outcome, "unknown");
      await backend.delete("jobs/j/other");
      disk.crash("power-cut");
      assert.equal(await readOptional(posixOn(disk), "jobs/j/other"), undefined);
    }
  });

  test("of many deletes those that failed are told, and all where their sync failed", async () => {
    const keys = ["jobs/j/1", "jobs/j/2", "jobs/j/3"];
    for (const [kind, left] of [["unlink", 1], ["syncDirectory", 3]] as const) {
      const { disk, backend } = await prepared();
      for (const key of keys) await backend.put(key, bytesOf(key));
      disk.addFault({ matches: ofKind(kind), error: "EIO" });
      const failed = await backend.deleteMany!(keys, () => {});
      assert.equal(failed.length, left, kind);
      for (const { error } of failed) assert.equal(error.outcome, "unknown");
      assert.deepEqual(await backend.deleteMany!(keys, () => {}), []);
      disk.crash("power-cut");
      for (const key of keys) assert.equal(await readOptional(posixOn(disk), key), undefined);
    }
  });

  test("a folder that can't be opened fails all deletes in it, and none elsewhere", async () => {
    const { disk, backend } = await prepared();
    for (const key of ["jobs/j/1", "jobs/k/1"]) await backend.put(key, bytesOf(key));
    disk.addFault({ matches: ofKind("openDirectory"), error: "EACCES" });
    const failed = await backend.deleteMany!(["jobs/j/1", "jobs/j/2", "jobs/k/1"], () => {});
    assert.deepEqual(failed.map(({ key }) => key), ["jobs/j/1", "jobs/j/2"]);
    assert.equal(failed[0].error.code, "storage-denied");
    assert.equal(await readOptional(backend, "jobs/k/1"), undefined);
  });
});

describe("PosixBackend's temporary names", () => {
  test("one that a sweep took away is made anew", async () => {
    for (const action of ["put", "putIfAbsent"] as const) {
      const disk = new ForgettingDisk();
      const sweeper = await preparedPosixOn(disk);
      let sweepsLeft = 3;
      const fileSystem = disk.fileSystem();
      for (const name of ["rename", "link"] as const) {
        const call = fileSystem[name].bind(fileSystem);
        fileSystem[name] = async (temporary, target) => {
          if (sweepsLeft-- > 0) {
            for (const { key } of await collect(sweeper.listTemporary(""))) {
              await sweeper.deleteTemporary(key);
            }
          }
          await call(temporary, target);
        };
      }
      await posixOn(disk, { fileSystem })[action](KEY, bytesOf("new"));
      assert.equal(sweepsLeft, -1);
      assert.equal(disk.log.filter(({ kind }) => kind === "datasync").length, 4);
      assert.equal(textOf(await sweeper.get(KEY)), "new");
      assert.deepEqual(await collect(sweeper.listTemporary("")), []);
    }
  });

  test("a folder that vanished is made anew", async () => {
    const { disk, backend } = await prepared();
    const other = disk.fileSystem();
    await other.unlink("/disk/store/jobs/j/other");
    await other.rmdir("/disk/store/jobs/j");
    await other.rmdir("/disk/store/jobs");
    await backend.put(KEY, bytesOf("new"));
    disk.crash("power-cut");
    assert.equal(textOf(await posixOn(disk).get(KEY)), "new");
  });
});

describe("PosixBackend's appender after a failure", () => {
  const failures: readonly [DiskCall["kind"], string, ErrorCode][] = [
    ["write", "EIO", "storage-unavailable"],
    ["write", "ENOSPC", "storage-full"],
    ["datasync", "EIO", "storage-unavailable"],
    ["datasync", "ENOSPC", "storage-full"],
    ["syncDirectory", "EIO", "storage-unavailable"],
  ];
  for (const [kind, errno, code] of failures) {
    test(`it touches the file no more when a ${kind} said ${errno}`, async () => {
      const { disk, backend } = await prepared();
      const appender = await backend.createAppender("jobs/j/log");
      const use = async () => {
        await appender.write(bytesOf("x"));
        await appender.sync();
      };
      disk.addFault({ matches: ofKind(kind), error: errno, losesPending: true });
      const first = await rejectsWith(use, code);
      assert.equal(first.outcome, "unknown");
      const from = disk.calls;
      for (const call of [() => appender.write(bytesOf("y")), () => appender.sync(), use]) {
        const again = await rejectsWith(call, code);
        assert.equal(again.outcome, "not-applied");
        assert.equal(again.cause, first);
      }
      assert.equal(disk.calls, from);
      await appender.close();
      const closed = disk.log.slice(from).map((call) => `${call.kind} ${call.path}`);
      assert.deepEqual(closed, ["close /disk/store/jobs/j", "close /disk/store/jobs/j/log"]);
    });
  }
});

describe("PosixBackend on a full disk", () => {
  test("says how much was asked for and is free, and goes on once there is room", async () => {
    const { disk, backend } = await prepared();
    const appender = await backend.createAppender("jobs/j/log");
    disk.freeBytes = 100;
    for (
      const call of [
        () => backend.put(KEY, new Uint8Array(500)),
        () => backend.putIfAbsent(KEY, new Uint8Array(500)),
      ]
    ) {
      const error = await rejectsWith(call, "storage-full");
      assert.match(error.message, /asked for 500 bytes, 100 bytes are free; make room/);
      assert.deepEqual(
        [error.details.wantedBytes, error.details.errno, error.outcome],
        [500, "ENOSPC", "not-applied"],
      );
      assert.ok(error.retryable);
      assert.equal(disk.freeBytes, 100, "what was begun is given back");
    }
    await rejectsWith(() => appender.write(new Uint8Array(500)), "storage-full");
    await appender.close();
    disk.freeBytes = 1000;
    await backend.put(KEY, new Uint8Array(500));
    const next = await backend.createAppender("jobs/j/log2");
    await next.write(new Uint8Array(500));
    await next.sync();
  });

  test("tells a quota from a full disk, in every call that can meet one", async () => {
    for (const kind of ["mkdir", "create", "write", "datasync", "rename"] as const) {
      const disk = new ForgettingDisk();
      const backend = await preparedPosixOn(disk);
      disk.addFault({ matches: ofKind(kind), error: "EDQUOT" });
      const error = await rejectsWith(() => backend.put(KEY, bytesOf("x")), "storage-full");
      assert.match(error.message, /quota of user tester \(1000\) is used up \(EDQUOT\)/);
    }
  });
});

describe("PosixBackend that may not", () => {
  test("names path, user and the step to take", async () => {
    for (const errno of ["EACCES", "EPERM", "EROFS"]) {
      const { disk, backend } = await prepared();
      disk.addFault({ matches: ({ kind }) => CHANGING_CALLS.has(kind), error: errno, times: 99 });
      disk.addFault({ matches: ofKind("open"), error: errno, times: 99 });
      for (
        const call of [
          () => backend.put(KEY, bytesOf("x")),
          () => backend.delete("jobs/j/other"),
          () => backend.createAppender(KEY),
          () => backend.get("jobs/j/other"),
          () => backend.pin("jobs/j/other"),
        ]
      ) {
        const error = await rejectsWith(call, "storage-denied");
        assert.match(error.message, /"\/disk\/store\/jobs\/j\//);
        assert.match(error.message, /user tester \(1000\)/);
        assert.match(error.message, errno === "EROFS" ? /mount it writable/ : /give that user/);
        assert.equal(error.retryable, false);
      }
    }
  });

  test("never takes what it can't see for absent", async () => {
    for (const errno of ["EACCES", "EIO", "ESTALE"]) {
      const { disk, backend } = await prepared();
      disk.addFault({ matches: ({ kind }) => kind.startsWith("stat"), error: errno, times: 99 });
      disk.addFault({ matches: ofKind("readDirectory"), error: errno, times: 99 });
      const code = errno === "EACCES" ? "storage-denied" : "storage-unavailable";
      assert.throws(
        () => backend.existsSync(KEY),
        (error) => error instanceof TidemarkError && error.code === code,
      );
      for (
        const call of [
          () => backend.head(KEY),
          () => backend.get(KEY),
          () => collect(backend.list("")),
          () => backend.delete(KEY),
        ]
      ) await rejectsWith(call, code);
    }
  });

  test("names the permission that the runtime lacks", async () => {
    const disk = new ForgettingDisk();
    const fileSystem = disk.fileSystem();
    fileSystem.statFileSystem = () => {
      const error = new Error('Requires sys access to "statfs"');
      error.name = "NotCapable";
      return Promise.reject(error);
    };
    const error = await rejectsWith(() => preparedPosixOn(disk, { fileSystem }), "storage-denied");
    assert.match(error.message, /was not given the permission: Requires sys access to "statfs"/);
  });

  test("a pin whose look-up fails says so", async () => {
    const { disk, backend } = await prepared();
    const pinned = await backend.pin("jobs/j/other");
    disk.addFault({ matches: ofKind("statSync"), error: "EIO" });
    assert.throws(() => pinned.isCurrent(), TidemarkError);
    assert.equal(pinned.isCurrent(), true);
  });
});

describe("PosixBackend without its folder", () => {
  test("says that the store is not there, and creates nothing", async () => {
    const disk = new ForgettingDisk();
    const backend = posixOn(disk);
    assert.throws(
      () => backend.existsSync(KEY),
      (error) => error instanceof TidemarkError && error.code === "store-not-found",
    );
    for (
      const call of [
        () => backend.prepare({ create: false }),
        () => backend.put(KEY, bytesOf("x")),
        () => backend.putIfAbsent(KEY, bytesOf("x")),
        () => backend.createAppender(KEY),
        () => backend.get(KEY),
        () => backend.head(KEY),
        () => backend.pin(KEY),
        () => backend.delete(KEY),
        () => backend.lock(KEY),
        () => collect(backend.list("")),
        () => collect(backend.listTemporary("jobs/")),
      ]
    ) {
      const error = await rejectsWith(call, "store-not-found");
      assert.match(error.message, /"\/disk\/store" does not exist; check its path/);
    }
    assert.deepEqual(await disk.fileSystem().readDirectory("/disk"), []);
  });

  test("says so when its folder goes while it is in use, and makes it not anew", async () => {
    const { disk, backend } = await prepared();
    const fileSystem = disk.fileSystem();
    await fileSystem.rename("/disk/store", "/disk/elsewhere");
    for (
      const call of [
        () => backend.put(KEY, bytesOf("x")),
        () => backend.putIfAbsent("new", bytesOf("x")),
        () => backend.createAppender("jobs/j/new"),
        () => backend.get(KEY),
        () => backend.delete(KEY),
        () => collect(backend.list("")),
        () => collect(backend.list("jobs/")),
      ]
    ) await rejectsWith(call, "store-not-found");
    assert.equal(await fileSystem.stat("/disk/store"), undefined);
  });

  test("does not take an empty folder in its place for an empty store", async () => {
    const { disk, backend } = await prepared();
    const fs = disk.fileSystem();
    await fs.rename("/disk/store", "/disk/away");
    await fs.mkdir("/disk/store");
    assert.throws(() => backend.existsSync(KEY), /is not the one that was opened/);
    await rejectsWith(() => backend.get("jobs/j/other"), "store-not-found");
    await rejectsWith(() => backend.head("jobs/j/other"), "store-not-found");
    await rejectsWith(() => backend.delete("jobs/j/other"), "store-not-found");
    await rejectsWith(() => collect(backend.list("jobs/")), "store-not-found");
  });

  test("makes nothing in an empty folder in its place", async () => {
    const { disk, backend } = await prepared();
    const fs = disk.fileSystem();
    await fs.rename("/disk/store", "/disk/away");
    await fs.mkdir("/disk/store");
    for (
      const call of [
        () => backend.put("RESERVE", bytesOf("x")),
        () => backend.put(KEY, bytesOf("x")),
        () => backend.putIfAbsent("jobs/other/x", bytesOf("x")),
        () => backend.createAppender("jobs/j/new"),
        () => backend.lock("jobs/j/LOCK"),
      ]
    ) await rejectsWith(call, "store-not-found");
    assert.deepEqual(await fs.readDirectory("/disk/store"), []);
  });
});

describe("PosixBackend's folders", () => {
  test("one whose name could not be synced is taken back and made anew", async () => {
    const disk = new ForgettingDisk();
    const backend = await preparedPosixOn(disk);
    disk.addFault({
      matches: ({ kind, path }) => kind === "syncDirectory" && path === "/disk/store",
      error: "EIO",
      losesPending: true,
    });
    const error = await rejectsWith(() => backend.put(KEY, bytesOf("x")), "storage-unavailable");
    assert.equal(error.outcome, "not-applied");
    await backend.put(KEY, bytesOf("x"));
    disk.crash("power-cut");
    assert.equal(textOf(await posixOn(disk).get(KEY)), "x");
  });

  test("one that can't be taken back is not used again", async () => {
    const disk = new ForgettingDisk();
    const logger = new RecordingLogger();
    const backend = await preparedPosixOn(disk, { logger });
    disk.addFault({
      matches: ({ kind, path }) => kind === "syncDirectory" && path === "/disk/store",
      error: "EIO",
      losesPending: true,
    });
    disk.addFault({ matches: ofKind("rmdir"), error: "ENOTEMPTY", times: 9 });
    await rejectsWith(() => backend.put(KEY, bytesOf("x")), "storage-unavailable");
    const error = await rejectsWith(() => backend.put(KEY, bytesOf("x")), "storage-unavailable");
    assert.match(error.message, /could not be synced, so nothing in it is safe/);
    assert.ok(logger.messages("error").length > 0);
  });

  test("one that is a file is named", async () => {
    const { backend } = await prepared();
    const error = await rejectsWith(
      () => backend.put("jobs/j/other/k", bytesOf("x")),
      "not-a-store",
    );
    assert.match(error.message, /"\/disk\/store\/jobs\/j\/other" is not a folder/);
  });
});
