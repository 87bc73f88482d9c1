/**
 * Writes whole objects so that they are there entirely or not at all, and still there after a power cut.
 * Owns: the order of temporary file, data sync, opening the folder, name, folder sync. Does not own: keys, reads,
 * deletes, retries; only a temporary that a sweep took away is made again.
 * @module
 */
import type { Outcome, TidemarkError } from "../errors.ts";
import type { DirectoryHandle, FileHandle } from "../port/file_system.ts";
import { folderOf, temporaryName } from "./_keys.ts";
import {
  closeAfterFailure,
  closeDirectory,
  discardTemporary,
  errnoOf,
  type PosixPorts,
} from "./_posix_context.ts";
import { explainPosixError, type FailedCall, NO_PROGRESS } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";

/** How often a temporary name that vanished is made anew before the store is called unusable. */
const TEMPORARY_ATTEMPTS_MAX = 8;

/** A write that took nothing, and gave no reason. */
class NoProgressError extends Error {
  readonly code = NO_PROGRESS;
}

/**
 * Writes all of `bytes` at `position`, however few the file system takes at a time.
 *
 * @param checkWanted Throws when the rest is not to be written any more. @default it always is
 */
export async function writeFully(
  handle: FileHandle,
  bytes: Uint8Array,
  position: number,
  checkWanted: () => void = () => {},
): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    if (done > 0) checkWanted();
    const count = await handle.write(bytes.subarray(done), position + done);
    if (count <= 0) {
      throw new NoProgressError(
        `none of ${bytes.length - done} bytes at byte ${position + done}`,
      );
    }
    done += count;
  }
}

/** A name that was made and is not durable yet. */
interface Staged {
  readonly temporary: string;
  /** Opened before the name was made. */
  readonly directory: DirectoryHandle;
}

/** Puts objects under their names. */
export class PosixWrites {
  readonly #ports: PosixPorts;
  readonly #folders: PosixFolders;

  constructor(ports: PosixPorts, folders: PosixFolders) {
    this.#ports = ports;
    this.#folders = folders;
  }

  /** See `StorageBackend.put`. */
  async put(key: string, bytes: Uint8Array, tag: string | undefined): Promise<void> {
    const { fileSystem } = this.#ports;
    const { directory } = await this.#stage(key, bytes, tag, async (temporary, target) => {
      await fileSystem.rename(temporary, target);
    });
    try {
      await this.#sync(directory, key, "write");
    } finally {
      await closeDirectory(this.#ports, directory);
    }
  }

  /** See `StorageBackend.putIfAbsent`. */
  async putIfAbsent(
    key: string,
    bytes: Uint8Array,
    tag: string | undefined,
  ): Promise<"created" | "exists"> {
    const { fileSystem } = this.#ports;
    let isCreated = true;
    const staged = await this.#stage(key, bytes, tag, async (temporary, target) => {
      try {
        await fileSystem.link(temporary, target);
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") throw error;
        isCreated = false;
      }
    });
    try {
      if (isCreated) await this.#sync(staged.directory, key, "write");
    } finally {
      await closeDirectory(this.#ports, staged.directory);
      await discardTemporary(this.#ports, staged.temporary);
    }
    return isCreated ? "created" : "exists";
  }

  /** Writes a temporary and has it named, in a directory that was opened before. The temporary may be gone after. */
  async #stage(
    key: string,
    bytes: Uint8Array,
    tag: string | undefined,
    name: (temporary: string, target: string) => Promise<void>,
  ): Promise<Staged> {
    const folder = folderOf(key);
    for (let attempt = 1;; attempt++) {
      const target = this.#folders.pathOf(key);
      const failed = { action: "write", path: target, wantedBytes: bytes.length };
      let temporary: string | undefined;
      let directory: DirectoryHandle | undefined;
      let outcome: Outcome = "not-applied";
      try {
        await this.#folders.make(folder, failed);
        temporary = await this.#writeTemporary(folder, bytes, tag);
        directory = await this.#ports.fileSystem.openDirectory(this.#folders.pathOf(folder));
        outcome = "unknown";
        await name(temporary, this.#folders.pathOf(key));
        return { temporary, directory };
      } catch (error) {
        if (directory !== undefined) await closeDirectory(this.#ports, directory);
        if (temporary !== undefined) await discardTemporary(this.#ports, temporary);
        if (errnoOf(error) === "ENOENT" && attempt < TEMPORARY_ATTEMPTS_MAX) {
          this.#folders.checkRootSync(failed);
          continue;
        }
        throw await this.#explain(error, { ...failed, outcome });
      }
    }
  }

  async #writeTemporary(
    folder: string,
    bytes: Uint8Array,
    tag: string | undefined,
  ): Promise<string> {
    const { clock, random, fileSystem } = this.#ports;
    const name = temporaryName(tag, clock, random);
    const path = this.#folders.pathOf(folder === "" ? name : `${folder}/${name}`);
    const handle = await fileSystem.open(path, "create");
    try {
      await writeFully(handle, bytes, 0);
      await handle.datasync();
    } catch (error) {
      await closeAfterFailure(this.#ports, handle);
      await discardTemporary(this.#ports, path);
      throw error;
    }
    await handle.close();
    return path;
  }

  async #sync(directory: DirectoryHandle, key: string, action: string): Promise<void> {
    try {
      await directory.sync();
    } catch (error) {
      const path = this.#folders.pathOf(key);
      throw await this.#explain(error, { action, path, outcome: "unknown" });
    }
  }

  #explain(error: unknown, failed: FailedCall): Promise<TidemarkError> {
    return explainPosixError(this.#ports, this.#folders.root, error, failed);
  }
}
