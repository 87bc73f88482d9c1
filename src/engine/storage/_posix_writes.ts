/**
 * Writes whole objects so that they are there entirely or not at all, and still there after a power cut.
 * Owns: the order of temporary file, data sync, name, folder sync. Does not own: keys, reads, retries;
 * only a temporary that a sweep took away is made again.
 * @module
 */
import type { Outcome, TidemarkError } from "../errors.ts";
import type { FileHandle } from "../port/file_system.ts";
import { folderOf, temporaryName } from "./_keys.ts";
import { closeAfterFailure, discardTemporary, errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall, NO_PROGRESS } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";

/** How often a temporary name that vanished is made anew before the store is called unusable. */
const TEMPORARY_ATTEMPTS_MAX = 8;

/** A write that took nothing, and gave no reason. */
class NoProgressError extends Error {
  readonly code = NO_PROGRESS;
}

/** Writes all of `bytes` at `position`, however few the file system takes at a time. */
export async function writeFully(
  handle: FileHandle,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const count = await handle.write(bytes.subarray(done), position + done);
    if (count <= 0) {
      throw new NoProgressError(
        `none of ${bytes.length - done} bytes at byte ${position + done}`,
      );
    }
    done += count;
  }
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
    await this.#publish(key, bytes, tag, async (temporary, target) => {
      await fileSystem.rename(temporary, target);
    });
    await this.#syncFolder(key);
  }

  /** See `StorageBackend.putIfAbsent`. */
  async putIfAbsent(
    key: string,
    bytes: Uint8Array,
    tag: string | undefined,
  ): Promise<"created" | "exists"> {
    const { fileSystem } = this.#ports;
    let isCreated = true;
    const temporary = await this.#publish(key, bytes, tag, async (temporary, target) => {
      try {
        await fileSystem.link(temporary, target);
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") throw error;
        isCreated = false;
      }
    });
    try {
      if (isCreated) await this.#syncFolder(key);
    } finally {
      await discardTemporary(this.#ports, temporary);
    }
    return isCreated ? "created" : "exists";
  }

  /** Deletes a name durably; answers whether it was there. */
  async delete(key: string, failed: FailedCall): Promise<boolean> {
    const path = this.#folders.pathOf(key);
    let isFound = true;
    try {
      await this.#ports.fileSystem.unlink(path);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== "ENOENT") throw await this.#explain(error, { ...failed, outcome: "unknown" });
      this.#folders.checkRootSync(failed);
      isFound = false;
    }
    // Also when it was gone: an earlier delete may have failed at its sync.
    await this.#syncFolder(key, "delete");
    return isFound;
  }

  /** Removes a temporary name; it need not be durable, since a sweep finds it again. */
  async deleteTemporary(key: string): Promise<void> {
    const path = this.#folders.pathOf(key);
    try {
      await this.#ports.fileSystem.unlink(path);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      throw await this.#explain(error, { action: "remove", path, outcome: "unknown" });
    }
  }

  /** Writes a temporary and has it named; answers the temporary's path, which may be gone. */
  async #publish(
    key: string,
    bytes: Uint8Array,
    tag: string | undefined,
    name: (temporary: string, target: string) => Promise<void>,
  ): Promise<string> {
    const folder = folderOf(key);
    for (let attempt = 1;; attempt++) {
      const target = this.#folders.pathOf(key);
      const failed = { action: "write", path: target, wantedBytes: bytes.length };
      let temporary: string | undefined;
      let outcome: Outcome = "not-applied";
      try {
        await this.#folders.make(folder, failed);
        temporary = await this.#writeTemporary(folder, bytes, tag);
        outcome = "unknown";
        await name(temporary, this.#folders.pathOf(key));
        return temporary;
      } catch (error) {
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

  async #syncFolder(key: string, action = "write"): Promise<void> {
    const path = this.#folders.pathOf(folderOf(key));
    try {
      await this.#ports.fileSystem.syncDirectory(path);
    } catch (error) {
      const failed: FailedCall = { action, path: this.#folders.pathOf(key), outcome: "unknown" };
      throw await this.#explain(error, failed);
    }
  }

  #explain(error: unknown, failed: FailedCall): Promise<TidemarkError> {
    return explainPosixError(this.#ports, this.#folders.root, error, failed);
  }
}
