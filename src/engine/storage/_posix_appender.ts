/** An object on disk that grows at its end. @module */
import { TidemarkError } from "../errors.ts";
import type { DirectoryHandle, FileHandle } from "../port/file_system.ts";
import { type AppendTarget, GuardedAppender } from "./_guarded_appender.ts";
import { folderOf } from "./_keys.ts";
import { closeAfterFailure, closeDirectory, errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";
import { writeFully } from "./_posix_writes.ts";

/** How often a folder that vanished is made anew. */
const FOLDER_ATTEMPTS_MAX = 3;

/** A file that was created and whose name is not durable yet. */
interface CreatedFile {
  readonly handle: FileHandle;
  /** Opened before the file was created. */
  readonly directory: DirectoryHandle;
}

/** Creates the file of `key` and an appender for it. */
export async function createPosixAppender(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
  onClose: (appender: GuardedAppender) => void,
): Promise<GuardedAppender> {
  const file = await createFile(ports, folders, key);
  const appender = new GuardedAppender(
    key,
    targetOf(ports, folders, key, file, () => onClose(appender)),
  );
  return appender;
}

async function createFile(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
): Promise<CreatedFile> {
  for (let attempt = 1;; attempt++) {
    let failed: FailedCall = { action: "create", path: folders.pathOf(key) };
    let directory: DirectoryHandle | undefined;
    try {
      await folders.make(folderOf(key), failed);
      directory = await ports.fileSystem.openDirectory(folders.pathOf(folderOf(key)));
      failed = { ...failed, path: folders.pathOf(key), outcome: "unknown" };
      return { handle: await ports.fileSystem.open(failed.path, "create"), directory };
    } catch (error) {
      if (directory !== undefined) await closeDirectory(ports, directory);
      if (errnoOf(error) === "EEXIST") throw existsError(key, failed.path, error);
      if (errnoOf(error) === "ENOENT" && attempt < FOLDER_ATTEMPTS_MAX) continue;
      throw await explainPosixError(ports, folders.root, error, failed);
    }
  }
}

function existsError(key: string, path: string, cause: unknown): TidemarkError {
  return new TidemarkError(
    "object-exists",
    `Cannot create ${JSON.stringify(key)}: it exists already, and an appender wants a new key`,
    { details: { key, path }, cause },
  );
}

function targetOf(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
  { handle, directory }: CreatedFile,
  onClose: () => void,
): AppendTarget {
  const path = folders.pathOf(key);
  let unsynced: DirectoryHandle | undefined = directory;
  const attempt = async (failed: FailedCall, call: () => Promise<void>) => {
    try {
      await call();
    } catch (error) {
      throw await explainPosixError(ports, folders.root, error, failed);
    }
  };
  const letDirectoryGo = async () => {
    if (unsynced === undefined) return;
    unsynced = undefined;
    await closeDirectory(ports, directory);
  };
  return {
    write: (bytes, position, checkWanted) =>
      attempt(
        { action: "append to", path, wantedBytes: bytes.length, outcome: "unknown" },
        () => writeFully(handle, bytes, position, checkWanted),
      ),
    syncData: () => attempt({ action: "sync", path, outcome: "unknown" }, () => handle.datasync()),
    sync: () =>
      attempt({ action: "sync", path, outcome: "unknown" }, async () => {
        await handle.datasync();
        await unsynced?.sync();
        await letDirectoryGo();
      }),
    close: async () => {
      onClose();
      await letDirectoryGo();
      await attempt({ action: "close", path, outcome: "unknown" }, () => handle.close());
    },
    closeAfter: async (running) => {
      onClose();
      await Promise.allSettled([running]);
      await letDirectoryGo();
      await closeAfterFailure(ports, handle);
    },
  };
}
