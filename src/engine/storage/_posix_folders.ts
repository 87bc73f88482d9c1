/**
 * The folders of a store on disk.
 * Owns: the way from a key to a path that stays within the root, making folders, and which folders' names
 * are known to be on disk. Does not own: the files in them.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { FileStat } from "../port/file_system.ts";
import { errnoOf, type PosixPorts } from "./_posix_context.ts";
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
    const made: string[] = [];
    for (const part of partsOf(folder)) {
      const path = this.pathOf(part);
      if (this.#doubtful.has(path)) throw doubtfulError(path, failed);
      const type = this.#ports.fileSystem.statSync(path)?.type;
      if (type === "symlink") throw linkError(path, failed);
      if (type === "directory") continue;
      this.#durable.delete(path);
      if (await this.#makeOne(path, failed)) made.push(path);
    }
    await this.#syncNames(folder, made);
  }

  /** Answers whether this call made it, rather than another one at the same time. */
  async #makeOne(path: string, failed: FailedCall): Promise<boolean> {
    try {
      await this.#ports.fileSystem.mkdir(path);
      return true;
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
      const type = this.#ports.fileSystem.statSync(path)?.type;
      if (type === "symlink") throw linkError(path, failed);
      if (type !== undefined && type !== "directory") throw notAFolder(path, failed);
      return false;
    }
  }

  async #syncNames(folder: string, made: readonly string[]): Promise<void> {
    let parent = this.#root;
    for (const part of partsOf(folder)) {
      const path = this.pathOf(part);
      if (!this.#durable.has(path)) {
        try {
          await this.#ports.fileSystem.syncDirectory(parent);
        } catch (error) {
          await this.#takeBack(made);
          throw error;
        }
        this.#durable.add(path);
      }
      parent = path;
    }
  }

  /** A second sync of the same names may say yes without having written them: they must be made anew. */
  async #takeBack(made: readonly string[]): Promise<void> {
    for (const path of made.toReversed()) {
      try {
        await this.#ports.fileSystem.rmdir(path);
        this.#durable.delete(path);
      } catch (error) {
        if (errnoOf(error) === "ENOENT") continue;
        this.#doubtful.add(path);
        this.#ports.logger.log("error", "A folder whose name could not be synced is not used", {
          path,
          error,
        });
      }
    }
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
