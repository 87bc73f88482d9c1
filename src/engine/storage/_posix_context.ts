/** What the parts of the POSIX backend share. @module */
import type { Clock } from "../port/clock.ts";
import type { DirectoryHandle, FileHandle, FileSystem } from "../port/file_system.ts";
import type { Logger } from "../port/logger.ts";
import type { ProcessInfo } from "../port/process_info.ts";
import type { Random } from "../port/random.ts";

/** The ports that the POSIX backend works with. */
export interface PosixPorts {
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly process: ProcessInfo;
  readonly logger: Logger;
}

/** Name of an error when the runtime itself, not the system, forbids a call; it has no errno. */
export const NOT_CAPABLE = "NotCapable";

/** Name of the errno that an error of the file-system port carries. */
export function errnoOf(error: unknown): string | undefined {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (typeof code === "string") return code;
  return name === NOT_CAPABLE ? NOT_CAPABLE : undefined;
}

/** Removes a temporary name that is of no more use; what can't be removed is left to the sweep. */
export async function discardTemporary(ports: PosixPorts, path: string): Promise<void> {
  try {
    await ports.fileSystem.unlink(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    ports.logger.log("warning", "A temporary file could not be removed and is left to the sweep", {
      path,
      error,
    });
  }
}

/** Closes a file whose call has failed already: that failure is what the caller must hear of. */
export async function closeAfterFailure(ports: PosixPorts, handle: FileHandle): Promise<void> {
  try {
    await handle.close();
  } catch (error) {
    ports.logger.log("warning", "A file could not be closed after a failure", { error });
  }
}

/** Closes a directory. What its names are worth was told by its sync, so a failure changes nothing. */
export async function closeDirectory(
  ports: PosixPorts,
  directory: DirectoryHandle,
): Promise<void> {
  try {
    await directory.close();
  } catch (error) {
    ports.logger.log("warning", "A directory could not be closed", { error });
  }
}

/** Syncs a directory in which the caller made no name: what others made and failed to sync, it can't vouch for. */
export async function syncDirectory(ports: PosixPorts, path: string): Promise<void> {
  const directory = await ports.fileSystem.openDirectory(path);
  try {
    await directory.sync();
  } finally {
    await closeDirectory(ports, directory);
  }
}
