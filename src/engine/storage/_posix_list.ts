/**
 * Walks the folders of a store in key order.
 * Owns: what counts as an object, as a temporary, and as neither. Names that vanish on the way are passed over.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { DirectoryEntry, FileStat, FileType } from "../port/file_system.ts";
import { isTemporaryName } from "./_keys.ts";
import { errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";

/** Files that are looked up at the same time. */
const STATS_AT_ONCE = 32;
/** A file system's own folder in its root. */
const LOST_AND_FOUND = "lost+found";

/** A regular file below a prefix. */
export interface FoundFile {
  readonly key: string;
  readonly name: string;
  readonly stat: FileStat;
}

/** Objects, temporary names, or only those that are in no folder below the prefix. */
type WantedFiles = "objects" | "temporaries" | "temporaries here";

interface Entry {
  readonly key: string;
  readonly name: string;
  readonly type: FileType;
}

/** Walks everything below a prefix. */
export class PosixWalk {
  readonly #ports: PosixPorts;
  readonly #folders: PosixFolders;

  constructor(ports: PosixPorts, folders: PosixFolders) {
    this.#ports = ports;
    this.#folders = folders;
  }

  /** Regular files below `prefix`, in key order, of one kind. */
  async *files(prefix: string, kind: WantedFiles): AsyncGenerator<FoundFile> {
    const folder = prefix.slice(0, -1);
    const failed = { action: "list", path: this.#folders.pathOf(folder) };
    try {
      if (!await this.#folders.exists(folder, failed)) return;
      yield* this.#below(prefix, kind, failed);
    } catch (error) {
      throw await explainPosixError(this.#ports, this.#folders.root, error, failed);
    }
  }

  async *#below(
    prefix: string,
    kind: WantedFiles,
    failed: FailedCall,
  ): AsyncGenerator<FoundFile> {
    const entries = (await this.#read(prefix, failed)).filter((entry) =>
      entry.type === "directory"
        ? kind !== "temporaries here"
        : isTemporaryName(entry.name) === (kind !== "objects")
    );
    for (let index = 0; index < entries.length;) {
      if (entries[index].type === "directory") {
        yield* this.#below(`${entries[index++].key}/`, kind, failed);
        continue;
      }
      const group: Entry[] = [];
      while (
        index < entries.length && entries[index].type !== "directory" &&
        group.length < STATS_AT_ONCE
      ) group.push(entries[index++]);
      for (const found of await Promise.all(group.map((entry) => this.#lookUp(entry, failed)))) {
        if (found !== undefined) yield found;
      }
    }
  }

  async #read(prefix: string, failed: FailedCall): Promise<Entry[]> {
    let found: DirectoryEntry[];
    try {
      found = await this.#ports.fileSystem.readDirectory(this.#folders.pathOf(prefix.slice(0, -1)));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== "ENOENT" && errno !== "ENOTDIR") throw error;
      this.#folders.checkRootSync(failed);
      return [];
    }
    const entries: Entry[] = [];
    for (const { name, type } of found) {
      if (prefix === "" && name === LOST_AND_FOUND) continue;
      const key = prefix + name;
      // Some file systems don't say in a listing what an entry is.
      const known = type !== "other" ? type : await this.#typeOf(key);
      if (known !== undefined) entries.push({ key, name, type: known });
    }
    return entries.sort(inKeyOrder);
  }

  async #typeOf(key: string): Promise<FileType | undefined> {
    return (await this.#ports.fileSystem.stat(this.#folders.pathOf(key)))?.type;
  }

  async #lookUp(entry: Entry, failed: FailedCall): Promise<FoundFile | undefined> {
    const { key, name } = entry;
    if (entry.type === "symlink") {
      await this.#refuseLink(key, failed);
      return undefined;
    }
    const stat = await this.#ports.fileSystem.stat(this.#folders.pathOf(key));
    return stat?.type === "file" ? { key, name, stat } : undefined;
  }

  /** A link to a file of the store is no object; any other could hide objects that a list must show. */
  async #refuseLink(key: string, failed: FailedCall): Promise<void> {
    const { fileSystem } = this.#ports;
    const path = this.#folders.pathOf(key);
    let target: string;
    try {
      target = await fileSystem.realPath(path);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      throw error;
    }
    const isInside = target.startsWith(`${this.#folders.root}/`);
    if (isInside && (await fileSystem.stat(target))?.type !== "directory") return;
    throw new TidemarkError(
      "symbolic-link",
      `Cannot list ${JSON.stringify(failed.path)}: ${JSON.stringify(path)} is a symbolic link to ` +
        `${JSON.stringify(target)}, and a store keeps to its own folder; put the file or folder ` +
        `itself in its place`,
      { details: { path: failed.path, link: path, target } },
    );
  }
}

/** A folder stands where its keys do: `a-b` comes before `a/x`. */
function inKeyOrder(left: Entry, right: Entry): number {
  const leftKey = left.type === "directory" ? `${left.key}/` : left.key;
  const rightKey = right.type === "directory" ? `${right.key}/` : right.key;
  return leftKey < rightKey ? -1 : 1;
}
