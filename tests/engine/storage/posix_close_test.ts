/** Closing while a call of an appender hangs. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type {
  DirectoryHandle,
  FileHandle,
  FileSystem,
} from "../../../src/engine/port/file_system.ts";
import type { Appender, StorageBackend } from "../../../src/engine/storage/backend.ts";
import { bytesOf, rejectsWith } from "../../conformance/storage_backend.ts";
import { ForgettingDisk } from "../../doubles/forgetting_file_system.ts";
import { posixOn, preparedPosixOn } from "../../doubles/posix_on_double.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";

const BYTES = bytesOf("0123456789");
const KEY = "jobs/j/log";
const PATH = `/disk/store/${KEY}`;
const FOLDER_PATH = "/disk/store/jobs/j";

/** The call that hangs. */
type Hanging = "write" | "datasync" | "syncDirectory";

/** A file system one of whose calls waits. */
interface Held {
  readonly fileSystem: FileSystem;
  /** Settles when the call has come. */
  readonly reached: Promise<void>;
  /** Has the call done. */
  release(): void;
}

function hold(disk: ForgettingDisk, hanging: Hanging): Held {
  const fileSystem = disk.fileSystem();
  const { open, openDirectory } = fileSystem;
  let reach = () => {};
  let release = () => {};
  const reached = new Promise<void>((resolve) => reach = resolve);
  const released = new Promise<void>((resolve) => release = resolve);
  const wait = async <T>(call: () => Promise<T>) => {
    reach();
    await released;
    return await call();
  };
  fileSystem.open = async (path, mode) => {
    const handle: FileHandle = await open.call(fileSystem, path, mode);
    const { write, datasync } = handle;
    if (path === PATH && hanging === "write") {
      handle.write = (source, position) => wait(() => write.call(handle, source, position));
    }
    if (path === PATH && hanging === "datasync") {
      handle.datasync = () => wait(() => datasync.call(handle));
    }
    return handle;
  };
  fileSystem.openDirectory = async (path) => {
    const directory: DirectoryHandle = await openDirectory.call(fileSystem, path);
    const { sync } = directory;
    if (path === FOLDER_PATH && hanging === "syncDirectory") {
      directory.sync = () => wait(() => sync.call(directory));
    }
    return directory;
  };
  return { fileSystem, reached, release };
}

interface Hung {
  readonly disk: ForgettingDisk;
  readonly backend: StorageBackend;
  readonly appender: Appender;
  readonly logger: RecordingLogger;
  /** The appender's write and sync, one of which hangs. */
  readonly use: Promise<void>;
  release(): void;
}

/** A backend that holds a pin, a lock, and an appender of which a call hangs. */
async function hungIn(hanging: Hanging, shortWriteBytes = Infinity): Promise<Hung> {
  const disk = new ForgettingDisk();
  await (await preparedPosixOn(disk)).put("jobs/j/pinned", BYTES);
  const { fileSystem, reached, release } = hold(disk, hanging);
  const logger = new RecordingLogger();
  const backend = posixOn(disk, { fileSystem, logger });
  await backend.pin("jobs/j/pinned");
  await backend.lock("jobs/j/LOCK");
  const appender = await backend.createAppender(KEY);
  disk.shortWriteBytes = shortWriteBytes;
  const use = appender.write(BYTES).then(() => appender.sync());
  await reached;
  return { disk, backend, appender, logger, use, release };
}

function closesOf(disk: ForgettingDisk, from: number): string[] {
  return disk.log.slice(from).filter(({ kind }) => kind === "close").map(({ path }) => path);
}

/** Lets go on what nobody waits for. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await null;
}

describe("PosixBackend.close", () => {
  for (const hanging of ["write", "datasync", "syncDirectory"] as const) {
    test(`does not wait for a ${hanging} that hangs, nor closes the file under it`, async () => {
      const { disk, backend, appender, use, release } = await hungIn(hanging);
      const from = disk.calls;
      await backend.close();
      await appender.close();
      const [pinned, lock, ...others] = closesOf(disk, from);
      assert.equal(pinned, "/disk/store/jobs/j/pinned");
      assert.match(lock, /\.tmp-lock-/);
      assert.deepEqual(others, []);
      await rejectsWith(() => appender.write(BYTES), "closed");
      release();
      if (hanging === "write") await rejectsWith(() => use, "closed");
      else await use;
      await settle();
      assert.deepEqual(closesOf(disk, from).slice(2), [FOLDER_PATH, PATH]);
    });
  }

  test("has a write that hung write nothing further", async () => {
    const { disk, backend, use, release } = await hungIn("write", 3);
    await backend.close();
    release();
    const error = await rejectsWith(() => use, "closed");
    assert.equal(error.outcome, "unknown");
    assert.match(error.message, /Cannot go on with "jobs\/j\/log": the appender is closed/);
    assert.equal((await disk.fileSystem().stat(PATH))?.size, 3);
  });

  test("logs a file that could not be closed after the call returned", async () => {
    const { disk, backend, logger, use, release } = await hungIn("datasync");
    await backend.close();
    disk.addFault({ matches: ({ kind, path }) => kind === "close" && path === PATH, error: "EIO" });
    release();
    await use;
    await settle();
    assert.equal(logger.messages("warning").length, 1);
  });
});
