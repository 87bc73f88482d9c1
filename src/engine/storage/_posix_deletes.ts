/**
 * Takes names away.
 * Owns: that they are gone after a power cut as well, where that is wanted. Does not own: what may go.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { DirectoryHandle } from "../port/file_system.ts";
import { folderOf } from "./_keys.ts";
import { closeDirectory, errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";
import type { DeleteOptions, FailedDelete } from "./backend.ts";
import { inTurns } from "./delete_all.ts";

/** Names that one sync takes from the disk at most: what is gone is not lost again when a later part fails. */
const NAMES_PER_SYNC_MAX = 1000;
/** Names that are removed at once. */
const UNLINKS_AT_ONCE = 8;

/** Deletes objects and temporary names. */
export class PosixDeletes {
  readonly #ports: PosixPorts;
  readonly #folders: PosixFolders;

  constructor(ports: PosixPorts, folders: PosixFolders) {
    this.#ports = ports;
    this.#folders = folders;
  }

  /**
   * See `StorageBackend.delete`. What a failed sync left of an earlier delete, this one can't vouch for: such a name
   * may come back after a power cut.
   */
  async delete(key: string, { mayComeBack = false }: DeleteOptions): Promise<boolean> {
    const failed = this.#failed("delete", key);
    if (mayComeBack) return await this.#hasFolder(key, failed) && await this.#remove(failed);
    const directory = await this.#openFolder(key, failed);
    if (directory === undefined) return false;
    try {
      const isFound = await this.#remove(failed);
      // Also when it was gone: whoever deleted it may have died before its sync.
      await this.#sync(directory, failed);
      return isFound;
    } finally {
      await closeDirectory(this.#ports, directory);
    }
  }

  /** See `StorageBackend.deleteMany`: one sync for many names. */
  async deleteMany(
    keys: readonly string[],
    check: () => void,
  ): Promise<readonly FailedDelete[]> {
    const failures: FailedDelete[] = [];
    for (const part of partsByFolder(keys)) await this.#deletePart(part, check, failures);
    return failures;
  }

  /** Removes a temporary name; it need not be durable, since a sweep finds it again. */
  async deleteTemporary(key: string): Promise<void> {
    const failed = this.#failed("remove", key);
    if (await this.#hasFolder(key, failed)) await this.#unlink(failed);
  }
  /** Deletes names of one folder. What was removed before `check` threw is made durable all the same. */
  async #deletePart(
    keys: readonly string[],
    check: () => void,
    failures: FailedDelete[],
  ): Promise<void> {
    const note = (these: readonly string[], error: unknown): void => {
      if (!(error instanceof TidemarkError)) throw error;
      for (const key of these) failures.push({ key, error });
    };
    const failed = this.#failed("delete", keys[0]);
    let directory: DirectoryHandle | undefined;
    try {
      directory = await this.#openFolder(keys[0], failed);
    } catch (error) {
      note(keys, error);
    }
    if (directory === undefined) return;
    const removed: string[] = [];
    try {
      await inTurns(keys, UNLINKS_AT_ONCE, async (key) => {
        check();
        try {
          await this.#remove(this.#failed("delete", key));
          removed.push(key);
        } catch (error) {
          note([key], error);
        }
      });
    } finally {
      await this.#sync(directory, failed).catch((error) => note(removed, error));
      await closeDirectory(this.#ports, directory);
    }
  }

  #failed(action: string, key: string): FailedCall {
    return { action, path: this.#folders.pathOf(key) };
  }

  async #hasFolder(key: string, failed: FailedCall): Promise<boolean> {
    try {
      return await this.#folders.exists(folderOf(key), failed);
    } catch (error) {
      throw await this.#explain(error, failed);
    }
  }

  /** Opens a name's folder; undefined when there is none. */
  async #openFolder(key: string, failed: FailedCall): Promise<DirectoryHandle | undefined> {
    if (!await this.#hasFolder(key, failed)) return undefined;
    try {
      return await this.#ports.fileSystem.openDirectory(this.#folders.pathOf(folderOf(key)));
    } catch (error) {
      throw await this.#explain(error, failed);
    }
  }

  /** Removes a name of this store; answers whether it was there. */
  async #remove(failed: FailedCall): Promise<boolean> {
    const isFound = await this.#unlink(failed);
    if (!isFound) this.#folders.checkRootSync(failed);
    return isFound;
  }

  async #unlink(failed: FailedCall): Promise<boolean> {
    try {
      await this.#ports.fileSystem.unlink(failed.path);
      return true;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return false;
      throw await this.#explain(error, { ...failed, outcome: "unknown" });
    }
  }

  async #sync(directory: DirectoryHandle, failed: FailedCall): Promise<void> {
    try {
      await directory.sync();
    } catch (error) {
      throw await this.#explain(error, { ...failed, outcome: "unknown" });
    }
  }

  #explain(error: unknown, failed: FailedCall): Promise<TidemarkError> {
    return explainPosixError(this.#ports, this.#folders.root, error, failed);
  }
}

/** Names that are in one folder, some of them together. */
function* partsByFolder(keys: readonly string[]): Generator<readonly string[]> {
  const folders = new Map<string, string[]>();
  for (const key of keys) {
    const folder = folderOf(key);
    const names = folders.get(folder);
    if (names === undefined) folders.set(folder, [key]);
    else names.push(key);
  }
  for (const names of folders.values()) {
    for (let at = 0; at < names.length; at += NAMES_PER_SYNC_MAX) {
      yield names.slice(at, at + NAMES_PER_SYNC_MAX);
    }
  }
}
