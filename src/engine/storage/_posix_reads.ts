/**
 * Reads objects from disk.
 * Owns: ranged reads, look-ups, pins. Does not own: what is listed, what is written.
 * @module
 */
import type { FileHandle, FileStat } from "../port/file_system.ts";
import { TidemarkError } from "../errors.ts";
import { MIB } from "../limits.ts";
import { folderOf } from "./_keys.ts";
import { closeAfterFailure, errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall, posixError } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";
import { abortedError, checkRange, noObjectError } from "./_refusals.ts";
import type { GetOptions, ObjectInfo, PinnedKey } from "./backend.ts";

/** A long read looks at its signal after so many bytes. */
const READ_BYTES_MAX = 4 * MIB;

/** Reads objects. */
export class PosixReads {
  readonly #ports: PosixPorts;
  readonly #folders: PosixFolders;

  constructor(ports: PosixPorts, folders: PosixFolders) {
    this.#ports = ports;
    this.#folders = folders;
  }

  /** See `StorageBackend.get`. */
  async get(key: string, options: GetOptions): Promise<Uint8Array> {
    const range = checkRange(key, options);
    if (options.signal?.aborted) throw abortedError(key, options.signal);
    const failed = this.#failed("read", key);
    return await this.#attempt(failed, async () => {
      const { handle, stat } = await this.#open(key, failed);
      let bytes: Uint8Array;
      try {
        const from = Math.min(range.from, stat.size);
        const length = Math.max(0, Math.min(range.to, stat.size) - from);
        const target = options.into?.subarray(0, length) ?? new Uint8Array(length);
        const count = await readFully(handle, target, from, key, options.signal);
        bytes = target.subarray(0, count);
      } catch (error) {
        await closeAfterFailure(this.#ports, handle);
        throw error;
      }
      await handle.close();
      return bytes;
    });
  }

  /** See `StorageBackend.head`. */
  async head(key: string): Promise<ObjectInfo | undefined> {
    const failed = this.#failed("look up", key);
    return await this.#attempt(failed, async () => {
      if (!await this.#folders.exists(folderOf(key), failed)) return undefined;
      const stat = await this.#ports.fileSystem.stat(this.#folders.pathOf(key));
      if (stat?.type === "symlink") throw linkedObject(failed);
      if (stat?.type === "file") return { key, size: stat.size, modifiedMs: stat.modifiedMs };
      this.#folders.checkRootSync(failed);
      return undefined;
    });
  }

  /** See `StorageBackend.existsSync`. */
  existsSync(key: string): boolean {
    const failed = this.#failed("look up", key);
    try {
      if (this.#ports.fileSystem.statSync(failed.path) !== undefined) return true;
      this.#folders.checkRootSync(failed);
      return false;
    } catch (error) {
      throw posixError(this.#ports, error, failed);
    }
  }

  /** See `StorageBackend.pin`. */
  async pin(key: string, onClose: (pinned: PinnedKey) => void): Promise<PinnedKey> {
    const looked = this.#failed("hold", key);
    const { handle, stat } = await this.#attempt(looked, () => this.#open(key, looked));
    const failed = this.#failed("hold", key);
    let closing: Promise<void> | undefined;
    const pinned: PinnedKey = {
      key,
      isCurrent: () => {
        try {
          return this.#ports.fileSystem.statSync(failed.path)?.identity === stat.identity;
        } catch (error) {
          throw posixError(this.#ports, error, failed);
        }
      },
      close: () => {
        onClose(pinned);
        return closing ??= this.#attempt(failed, () => handle.close());
      },
    };
    return pinned;
  }

  async #open(key: string, failed: FailedCall): Promise<{ handle: FileHandle; stat: FileStat }> {
    if (!await this.#folders.exists(folderOf(key), failed)) throw noObjectError(failed.action, key);
    let handle: FileHandle;
    try {
      handle = await this.#ports.fileSystem.open(this.#folders.pathOf(key), "read");
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== "ENOENT" && errno !== "ENOTDIR") throw error;
      this.#folders.checkRootSync(failed);
      throw noObjectError(failed.action, key);
    }
    try {
      const stat = await handle.stat();
      if (stat.type !== "file") throw noObjectError(failed.action, key);
      return { handle, stat };
    } catch (error) {
      await closeAfterFailure(this.#ports, handle);
      throw error;
    }
  }

  #failed(action: string, key: string): FailedCall {
    return { action, path: this.#folders.pathOf(key) };
  }

  async #attempt<T>(failed: FailedCall, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw await explainPosixError(this.#ports, this.#folders.root, error, failed);
    }
  }
}

/** Fills `target` as far as the file goes; answers how far. */
async function readFully(
  handle: FileHandle,
  target: Uint8Array,
  position: number,
  key: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  let done = 0;
  while (done < target.length) {
    if (signal?.aborted) throw abortedError(key, signal);
    const part = target.subarray(done, done + READ_BYTES_MAX);
    const count = await handle.read(part, position + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

function linkedObject(failed: FailedCall): TidemarkError {
  return new TidemarkError(
    "symbolic-link",
    `Cannot ${failed.action} ${JSON.stringify(failed.path)}: it is a symbolic link; put the file ` +
      `itself in its place`,
    { details: { path: failed.path } },
  );
}
