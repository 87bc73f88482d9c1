/** An object on disk that grows at its end. @module */
import { TidemarkError } from "../errors.ts";
import type { FileHandle } from "../port/file_system.ts";
import { type AppendTarget, GuardedAppender } from "./_guarded_appender.ts";
import { folderOf } from "./_keys.ts";
import { errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";
import { writeFully } from "./_posix_writes.ts";

/** How often a folder that vanished is made anew. */
const FOLDER_ATTEMPTS_MAX = 3;

/** Creates the file of `key` and an appender for it. */
export async function createPosixAppender(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
  onClose: (appender: GuardedAppender) => void,
): Promise<GuardedAppender> {
  const handle = await createFile(ports, folders, key);
  const appender = new GuardedAppender(
    key,
    targetOf(ports, folders, key, handle, () => onClose(appender)),
  );
  return appender;
}

async function createFile(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
): Promise<FileHandle> {
  for (let attempt = 1;; attempt++) {
    let failed: FailedCall = { action: "create", path: folders.pathOf(key) };
    try {
      await folders.make(folderOf(key), failed);
      failed = { ...failed, path: folders.pathOf(key), outcome: "unknown" };
      return await ports.fileSystem.open(failed.path, "create");
    } catch (error) {
      if (errnoOf(error) === "EEXIST") {
        throw new TidemarkError(
          "object-exists",
          `Cannot create ${
            JSON.stringify(key)
          }: it exists already, and an appender wants a new key`,
          { details: { key, path: failed.path }, cause: error },
        );
      }
      if (errnoOf(error) === "ENOENT" && attempt < FOLDER_ATTEMPTS_MAX) continue;
      throw await explainPosixError(ports, folders.root, error, failed);
    }
  }
}

function targetOf(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
  handle: FileHandle,
  onClose: () => void,
): AppendTarget {
  const path = folders.pathOf(key);
  let isNameDurable = false;
  const attempt = async (failed: FailedCall, call: () => Promise<void>) => {
    try {
      await call();
    } catch (error) {
      throw await explainPosixError(ports, folders.root, error, failed);
    }
  };
  return {
    write: (bytes, position) =>
      attempt(
        { action: "append to", path, wantedBytes: bytes.length, outcome: "unknown" },
        () => writeFully(handle, bytes, position),
      ),
    sync: () =>
      attempt({ action: "sync", path, outcome: "unknown" }, async () => {
        await handle.datasync();
        if (isNameDurable) return;
        await ports.fileSystem.syncDirectory(folders.pathOf(folderOf(key)));
        isNameDurable = true;
      }),
    close: async () => {
      onClose();
      await attempt({ action: "close", path, outcome: "unknown" }, () => handle.close());
    },
  };
}
