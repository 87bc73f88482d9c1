/**
 * The folders of a store on disk.
 * Owns: the way from a key to a path that stays within the root, making folders, and which folders' names
 * are known to be on disk. Does not own: the files in them.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { DirectoryHandle, FileStat } from "../port/file_system.ts";
import { closeDirectory, errnoOf, type PosixPorts } from "./_posix_context.ts";
import { type FailedCall, posixError, storeNotFound } from "./_posix_error.ts";

/** Keeps every path within one root. */
export class PosixFolders {
  readonly #ports: PosixPorts;
  #root: string;
  #rootIdentity: string | undefined;
  /** Folders whose names this instance has synced. One that was found may be a dead process's, never synced. */
  readonly #durable = new Set<string>();
  /** Folders whose name could not be synced, and that could not be taken back. */
  readonly #doubtful = new Set<string>();
  /** Folders that are being made, or synced for the first time. */
  readonly #naming = new Map<string, Promise<void>>();

  /** @param root Absolute path. */
  constructor(ports: PosixPorts, root: string) {
    if (!root.startsWith("/")) {
      throw new TypeError(
        `Cannot use store folder ${JSON.stringify(root)}: wants an absolute path`,
      );
    }
    this.#ports = ports;
    this.#root = root === "/" ? root : root.replace(/\/+$/, "");
  }

  /** The root; without symbolic links once it was found. */
  get root(): string {
    return this.#root;
  }

  /** Path of a key or folder. */
  pathOf(key: string): string {
    return key === "" ? this.#root : `${this.#root}/${key}`;
  }

  /** Finds the root, following links once. @throws {TidemarkError} `store-not-found`, `not-a-store` */
  async openRoot(failed: FailedCall): Promise<void> {
    if (this.#rootIdentity !== undefined) return;
    const { fileSystem } = this.#ports;
    let resolved: string;
    try {
      resolved = await fileSystem.realPath(this.#root);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") throw storeNotFound(this.#root, failed, error);
      throw error;
    }
    const stat = await fileSystem.stat(resolved);
    if (stat === undefined) throw storeNotFound(resolved, failed);
    if (stat.type !== "directory") throw notAFolder(resolved, failed);
    this.#root = resolved;
    this.#rootIdentity = stat.identity;
  }

  /**
   * Makes sure that "there is no such name" was said about this store, and not about an empty mount point.
   * @throws {TidemarkError} `store-not-found`
   */
  checkRootSync(failed: FailedCall): void {
    let stat: FileStat | undefined;
    try {
      stat = this.#ports.fileSystem.statSync(this.#root);
    } catch (error) {
      throw posixError(this.#ports, error, failed);
    }
    if (stat === undefined) throw storeNotFound(this.#root, failed);
    if (this.#rootIdentity !== undefined && stat.identity !== this.#rootIdentity) {
      throw new TidemarkError(
        "store-not-found",
        `Cannot ${failed.action} ${JSON.stringify(failed.path)}: the store folder ` +
          `${
            JSON.stringify(this.#root)
          } is not the one that was opened; check that its disk is mounted`,
        { outcome: failed.outcome, details: { path: failed.path, root: this.#root } },
      );
    }
  }

  /**
   * Whether a folder exists; every part of the way is looked at, since a link could lead out of the store.
   * @throws {TidemarkError} `symbolic-link`, `store-not-found`
   */
  async exists(folder: string, failed: FailedCall): Promise<boolean> {
    await this.openRoot(failed);
    for (const part of partsOf(folder)) {
      const type = this.#ports.fileSystem.statSync(this.pathOf(part))?.type;
      if (type === "symlink") throw linkError(this.pathOf(part), failed);
      if (type !== "directory") {
        this.checkRootSync(failed);
        return false;
      }
    }
    return true;
  }

  /** Makes a folder and those above it, and makes all their names durable. */
  async make(folder: string, failed: FailedCall): Promise<void> {
    await this.openRoot(failed);
    // Nothing is made in an empty mount point.
    this.checkRootSync(failed);
    for (const part of partsOf(folder)) {
      const path = this.pathOf(part);
      if (this.#doubtful.has(path)) throw doubtfulError(path, failed);
      if (this.#isThere(path, failed) && this.#durable.has(path)) continue;
      // Who comes while it is being named waits for that sync: one of its own could say yes after it failed.
      await (this.#naming.get(path) ?? this.#startNaming(path));
      this.#isThere(path, failed);
    }
  }

  #isThere(path: string, failed: FailedCall): boolean {
    const type = this.#ports.fileSystem.statSync(path)?.type;
    if (type === "symlink") throw linkError(path, failed);
    if (type !== undefined && type !== "directory") throw notAFolder(path, failed);
    return type === "directory";
  }

  #startNaming(path: string): Promise<void> {
    const naming = this.#name(path).finally(() => this.#naming.delete(path));
    this.#naming.set(path, naming);
    return naming;
  }

  /** Makes a folder where it is missing, and its name durable, whoever made it. */
  async #name(path: string): Promise<void> {
    const { fileSystem } = this.#ports;
    this.#durable.delete(path);
    // Opened before the look: what another process makes after it is vouched for as well.
    const parent = await fileSystem.openDirectory(parentOf(path));
    try {
      if (fileSystem.statSync(path) === undefined) await makeUnlessThere(this.#ports, path);
      await this.#syncName(parent, path);
    } finally {
      await closeDirectory(this.#ports, parent);
    }
    this.#durable.add(path);
  }

  async #syncName(parent: DirectoryHandle, path: string): Promise<void> {
    try {
      await parent.sync();
    } catch (error) {
      if (!await takeBackFolder(this.#ports, path)) this.#doubtful.add(path);
      throw error;
    }
  }
}

/**
 * Removes a folder whose name could not be synced: a second sync of the same name may say yes without having written
 * it, so it must be made anew. Answers whether it is gone.
 */
export async function takeBackFolder(ports: PosixPorts, path: string): Promise<boolean> {
  try {
    await ports.fileSystem.rmdir(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    ports.logger.log("error", "A folder whose name could not be synced can't be removed", {
      path,
      error,
    });
    return false;
  }
}

/** Folder that a path's last part is in. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

/** Makes a folder; one that is there by now is fine. */
export async function makeUnlessThere(ports: PosixPorts, path: string): Promise<void> {
  try {
    await ports.fileSystem.mkdir(path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/** `a`, `a/b`, `a/b/c` for `a/b/c`. */
function partsOf(folder: string): string[] {
  if (folder === "") return [];
  const parts = folder.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function linkError(path: string, failed: FailedCall): TidemarkError {
  return new TidemarkError(
    "symbolic-link",
    `Cannot ${failed.action} ${JSON.stringify(failed.path)}: ${
      JSON.stringify(path)
    } is a symbolic ` +
      `link, and a store keeps to its own folder; put the folder itself in its place`,
    { details: { path: failed.path, link: path } },
  );
}

function notAFolder(path: string, failed: FailedCall): TidemarkError {
  return new TidemarkError(
    "not-a-store",
    `Cannot ${failed.action} ${JSON.stringify(failed.path)}: ${JSON.stringify(path)} is not a ` +
      `folder; move it away, or choose another store folder`,
    { details: { path: failed.path, found: path } },
  );
}

function doubtfulError(path: string, failed: FailedCall): TidemarkError {
  return new TidemarkError(
    "storage-unavailable",
    `Cannot ${failed.action} ${JSON.stringify(failed.path)}: the name of folder ` +
      `${
        JSON.stringify(path)
      } could not be synced, so nothing in it is safe; check the disk, then start again`,
    { details: { path: failed.path, folder: path } },
  );
}
