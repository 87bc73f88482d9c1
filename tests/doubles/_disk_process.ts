/** One process's view of the forgetting disk: the file-system port, its handles, its locks. @module */
import type {
  DirectoryEntry,
  DirectoryHandle,
  FileHandle,
  FileStat,
  FileSystem,
  FileSystemStat,
  OpenMode,
} from "../../src/engine/port/file_system.ts";
import { type CallExtent, type CallKind, CrashedError, errnoError } from "./_disk_faults.ts";
import { type DiskNode, FileNode, type FolderNode } from "./_disk_node.ts";
import type { ForgettingDisk } from "./forgetting_file_system.ts";

interface Place {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: DiskNode | undefined;
}

/** The file system as one process sees it. */
export class DiskProcess implements FileSystem {
  readonly name = "forgetting";
  readonly #disk: ForgettingDisk;
  readonly #handles = new Set<DiskHandle>();
  #isDead = false;

  constructor(disk: ForgettingDisk) {
    this.#disk = disk;
  }

  get hasKernelLock(): boolean {
    return this.#disk.hasKernelLock;
  }

  /** Ends the process as `kill -9` does: every call rejects, its locks are free, what it wrote stays. */
  kill(): void {
    this.#isDead = true;
    for (const handle of this.#handles) handle.drop();
    this.#handles.clear();
  }

  open(path: string, mode: OpenMode): Promise<FileHandle> {
    return this.later(mode === "create" ? "create" : "open", path, () => {
      const node = mode === "create" ? this.#create(path) : this.#find(path, "open");
      if (mode === "update" && node.type === "directory") throw errnoError("EISDIR", "open", path);
      return this.#hold(node, path, mode !== "read");
    });
  }

  mkdir(path: string): Promise<void> {
    return this.later("mkdir", path, () => {
      const { folder, name, node } = this.#place(path, "mkdir");
      if (node !== undefined) throw errnoError("EEXIST", "mkdir", path);
      folder.change([{ name, node: this.#disk.makeNode("directory") }]);
    });
  }

  link(existing: string, target: string): Promise<void> {
    return this.later("link", target, () => {
      const source = this.#find(existing, "link");
      const { folder, name, node } = this.#place(target, "link");
      if (source.type === "directory") throw errnoError("EPERM", "link", existing);
      if (node !== undefined) throw errnoError("EEXIST", "link", target);
      folder.change([{ name, node: source }]);
    });
  }

  rename(from: string, target: string): Promise<void> {
    return this.later("rename", target, () => {
      const source = this.#place(from, "rename");
      const goal = this.#place(target, "rename");
      if (source.node === undefined) throw errnoError("ENOENT", "rename", from);
      // As POSIX has it: two names of one file both stay.
      if (source.node === goal.node) return;
      checkReplacement(source.node, goal.node, target);
      const removal = { name: source.name, node: undefined };
      const addition = { name: goal.name, node: source.node };
      if (source.folder === goal.folder) {
        source.folder.change([removal, addition]);
      } else {
        goal.folder.change([addition]);
        source.folder.change([removal]);
      }
      if (goal.node !== undefined) this.#disk.release(goal.node);
    });
  }

  unlink(path: string): Promise<void> {
    return this.later("unlink", path, () => {
      const { folder, name, node } = this.#place(path, "unlink");
      if (node === undefined) throw errnoError("ENOENT", "unlink", path);
      if (node.type === "directory") throw errnoError("EISDIR", "unlink", path);
      folder.change([{ name, node: undefined }]);
      this.#disk.release(node);
    });
  }

  rmdir(path: string): Promise<void> {
    return this.later("rmdir", path, () => {
      const { folder, name, node } = this.#place(path, "rmdir");
      if (node === undefined) throw errnoError("ENOENT", "rmdir", path);
      if (node.type !== "directory") throw errnoError("ENOTDIR", "rmdir", path);
      if (node.size > 0) throw errnoError("ENOTEMPTY", "rmdir", path);
      folder.change([{ name, node: undefined }]);
      this.#disk.release(node);
    });
  }

  readDirectory(path: string): Promise<DirectoryEntry[]> {
    return this.later("readDirectory", path, () => {
      const folder = this.#findFolder(path, "readDirectory");
      return [...folder.entries()].map(([name, node]) => ({ name, type: node.type }));
    });
  }

  openDirectory(path: string): Promise<DirectoryHandle> {
    return this.later("openDirectory", path, () => {
      return this.#hold(this.#findFolder(path, "openDirectory"), path, false);
    });
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.later("stat", path, () => this.#look(path));
  }

  statSync(path: string): FileStat | undefined {
    return this.now("statSync", path, () => this.#look(path));
  }

  realPath(path: string): Promise<string> {
    return this.later("realPath", path, () => {
      this.#find(path, "realPath");
      return `/${path.split("/").filter((part) => part !== "").join("/")}`;
    });
  }

  statFileSystem(path: string): Promise<FileSystemStat> {
    return this.later("statFileSystem", path, () => {
      this.#find(path, "statFileSystem");
      return this.#disk.space();
    });
  }

  /** Runs an asynchronous call. */
  async later<T>(
    kind: CallKind,
    path: string,
    effect: (extent: CallExtent) => T,
    lose?: () => void,
  ): Promise<T> {
    await this.#disk.delay();
    return this.now(kind, path, effect, lose);
  }

  /** Runs a call at once. */
  now<T>(
    kind: CallKind,
    path: string,
    effect: (extent: CallExtent) => T,
    lose?: () => void,
  ): T {
    if (this.#isDead) throw new CrashedError(`The process ended before ${kind} '${path}'`);
    return this.#disk.call(kind, path, effect, lose);
  }

  /** A handle was closed. */
  forget(handle: DiskHandle): void {
    this.#handles.delete(handle);
  }

  #hold(node: DiskNode, path: string, isWritable: boolean): DiskHandle {
    const handle = new DiskHandle(this, this.#disk, node, path, isWritable);
    this.#handles.add(handle);
    return handle;
  }

  #create(path: string): DiskNode {
    const { folder, name, node } = this.#place(path, "create");
    if (node !== undefined) throw errnoError("EEXIST", "open", path);
    const created = this.#disk.makeNode("file");
    folder.change([{ name, node: created }]);
    return created;
  }

  #look(path: string): FileStat | undefined {
    let node: DiskNode;
    try {
      node = this.#find(path, "stat");
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === "ENOENT" || code === "ENOTDIR") return undefined;
      throw error;
    }
    return statOf(node);
  }

  #find(path: string, call: string): DiskNode {
    if (path === "/") return this.#disk.root;
    const { node } = this.#place(path, call);
    if (node === undefined) throw errnoError("ENOENT", call, path);
    return node;
  }

  #findFolder(path: string, call: string): FolderNode {
    const node = this.#find(path, call);
    if (node.type !== "directory") throw errnoError("ENOTDIR", call, path);
    return node;
  }

  #place(path: string, call: string): Place {
    const parts = path.split("/").filter((part) => part !== "");
    const name = parts.pop();
    if (name === undefined) throw errnoError("EEXIST", call, path);
    let folder = this.#disk.root;
    for (const part of parts) {
      const next = folder.get(part);
      if (next === undefined) throw errnoError("ENOENT", call, path);
      if (next.type !== "directory") throw errnoError("ENOTDIR", call, path);
      folder = next;
    }
    return { folder, name, node: folder.get(name) };
  }
}

/** An open file or folder. */
class DiskHandle implements FileHandle {
  readonly #process: DiskProcess;
  readonly #disk: ForgettingDisk;
  readonly #node: DiskNode;
  readonly #path: string;
  readonly #isWritable: boolean;
  #isOpen = true;
  /** Failures of the node that a caller was told of, or that were before the handle. */
  #failuresKnown: number;

  constructor(
    process: DiskProcess,
    disk: ForgettingDisk,
    node: DiskNode,
    path: string,
    isWritable: boolean,
  ) {
    this.#process = process;
    this.#disk = disk;
    this.#node = node;
    this.#path = path;
    this.#isWritable = isWritable;
    this.#failuresKnown = node.failures;
    node.opens++;
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return this.#later("read", () => {
      const bytes = this.#file("read").view().subarray(position, position + target.length);
      target.set(bytes);
      return bytes.length;
    });
  }

  write(source: Uint8Array, position: number): Promise<number> {
    return this.#later("write", (extent) => {
      const file = this.#file("write");
      if (!this.#isWritable) throw errnoError("EBADF", "write", this.#path);
      const length = extent === "half" ? source.length >> 1 : source.length;
      const growth = Math.max(0, position + length - Math.max(file.size, position));
      const count = this.#disk.admit(length, growth, this.#path);
      if (count > 0) file.write(source.subarray(0, count), position);
      this.#disk.touch(file);
      return count;
    });
  }

  datasync(): Promise<void> {
    return this.#sync("datasync");
  }

  sync(): Promise<void> {
    return this.#sync(this.#node.type === "directory" ? "syncDirectory" : "sync");
  }

  stat(): Promise<FileStat> {
    return this.#later("fstat", () => statOf(this.#node));
  }

  tryLock(): boolean | undefined {
    if (!this.#disk.hasKernelLock) return undefined;
    return this.#process.now("tryLock", this.#path, () => {
      const file = this.#file("tryLock");
      file.lockedBy ??= this;
      return file.lockedBy === this;
    });
  }

  close(): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return this.#later("close", () => {
      this.#process.forget(this);
      this.drop();
    });
  }

  /** Lets go without a call, as the kernel does when a process ends. */
  drop(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#node instanceof FileNode && this.#node.lockedBy === this) {
      this.#node.lockedBy = undefined;
    }
    this.#node.opens--;
    this.#disk.release(this.#node);
  }

  #sync(kind: "datasync" | "sync" | "syncDirectory"): Promise<void> {
    const node = this.#node;
    return this.#later(kind, (extent) => {
      if (extent !== "none") node.sync();
      if (this.#failuresKnown === node.failures) return;
      this.#failuresKnown = node.failures;
      throw errnoError("EIO", kind, this.#path);
    }, () => {
      node.losePending();
      this.#failuresKnown = node.failures;
    });
  }

  #later<T>(
    kind: CallKind,
    effect: (extent: CallExtent) => T,
    lose?: () => void,
  ): Promise<T> {
    return this.#process.later(kind, this.#path, (extent) => {
      if (!this.#isOpen) throw errnoError("EBADF", kind, this.#path);
      return effect(extent);
    }, lose);
  }

  #file(call: string): FileNode {
    if (this.#node.type === "directory") throw errnoError("EISDIR", call, this.#path);
    return this.#node;
  }
}

function checkReplacement(source: DiskNode, goal: DiskNode | undefined, target: string): void {
  if (goal === undefined) return;
  if (goal.type !== "directory" && source.type !== "directory") return;
  if (source.type !== "directory") throw errnoError("EISDIR", "rename", target);
  if (goal.type !== "directory") throw errnoError("ENOTDIR", "rename", target);
  if (goal.size > 0) throw errnoError("ENOTEMPTY", "rename", target);
}

function statOf(node: DiskNode): FileStat {
  return {
    type: node.type,
    size: node.type === "file" ? node.size : 0,
    modifiedMs: node.modifiedMs,
    identity: `1:${node.id}`,
  };
}
