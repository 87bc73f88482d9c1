/** A file system whose syncs are counted, and held against what they were made for. @module */
import type {
  DirectoryHandle,
  FileHandle,
  FileSystem,
  OpenMode,
} from "../../src/engine/port/file_system.ts";

/** What was asked of the disk. */
export class DiskCounts {
  /** Syncs of data that began. */
  syncsBegun = 0;
  /** Syncs of data that returned. */
  syncsDone = 0;
  /** Those of them that nobody waited for: the file was written on meanwhile, and synced again. */
  syncsEarly = 0;
  /** Syncs of folders. */
  folderSyncs = 0;
  /** Whether syncs are left out, while something is prepared of which nothing is measured. */
  isPreparing = false;
  /** The latest sync, by when it began, of those that returned. */
  #lastDone = 0;

  /** Marks when something was appended; {@link check} then wants a sync that began later. */
  mark(): number {
    return this.syncsBegun;
  }

  /** @throws {Error} when no sync that began after the mark has returned. */
  check(mark: number): void {
    if (this.#lastDone > mark) return;
    throw new Error("An append was acknowledged without a sync: nothing of this bench counts");
  }

  /** Counts a sync of a folder. */
  async countFolder(sync: () => Promise<void>): Promise<void> {
    if (this.isPreparing) return;
    this.folderSyncs += 1;
    await sync();
  }

  /** Counts a sync. */
  async count(sync: () => Promise<void>): Promise<void> {
    if (this.isPreparing) return;
    const ordinal = ++this.syncsBegun;
    await sync();
    this.syncsDone += 1;
    this.#lastDone = Math.max(this.#lastDone, ordinal);
  }
}

/** The same file system, with its syncs counted. */
export function countSyncs(fileSystem: FileSystem, counts: DiskCounts): FileSystem {
  return replaced(fileSystem, {
    open: async (path: string, mode: OpenMode) => {
      const handle = await fileSystem.open(path, mode);
      let waitedFor = 0;
      const counted = (sync: () => Promise<void>): Promise<void> => {
        waitedFor += 1;
        return counts.count(sync).finally(() => waitedFor = Math.max(0, waitedFor - 1));
      };
      return replaced<FileHandle>(handle, {
        datasync: () => counted(() => handle.datasync()),
        sync: () => counted(() => handle.sync()),
        write: (source, position) => {
          counts.syncsEarly += waitedFor;
          waitedFor = 0;
          return handle.write(source, position);
        },
      });
    },
    openDirectory: async (path: string) => {
      const handle = await fileSystem.openDirectory(path);
      return replaced<DirectoryHandle>(handle, {
        sync: () => counts.countFolder(() => handle.sync()),
      });
    },
  });
}

/** An object with some methods replaced; the others are called on the object itself. */
function replaced<Kind extends object>(object: Kind, methods: Partial<Kind>): Kind {
  const bound = new Map<PropertyKey, unknown>(Object.entries(methods));
  return new Proxy(object, {
    get(target, name): unknown {
      if (bound.has(name)) return bound.get(name);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target);
      bound.set(name, method);
      return method;
    },
  });
}
