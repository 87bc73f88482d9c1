/**
 * The file system port over Deno's own API, with its kernel lock. What Deno has no call of its own for
 * (statfs, and an unlink that takes no folder) goes through `node:fs`.
 *
 * Reads and writes are synchronous up to `SYNC_BYTES_MAX`, as in `node_file_system.ts`. Deno has no call
 * that takes a position: longer ones wait for each other.
 * @module
 */
import type {
  DirectoryEntry,
  DirectoryHandle,
  FileHandle,
  FileStat,
  FileType,
  OpenMode,
} from "../engine/port/file_system.ts";
import { isAbsent, NodeFileSystem, SYNC_BYTES_MAX } from "./node_file_system.ts";

/** The parts of Deno that are used here: its types are not there when the code is checked for other runtimes. */
interface DenoFile {
  seekSync(offset: number, whence: number): number;
  readSync(target: Uint8Array): number | null;
  read(target: Uint8Array): Promise<number | null>;
  writeSync(source: Uint8Array): number;
  write(source: Uint8Array): Promise<number>;
  syncData(): Promise<void>;
  sync(): Promise<void>;
  stat(): Promise<DenoFileInfo>;
  statSync(): DenoFileInfo;
  tryLockSync(exclusive: boolean): boolean;
  close(): void;
}

interface DenoFileInfo {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly isSymlink: boolean;
  readonly size: number;
  readonly mtime: Date | null;
  readonly dev: number;
  readonly ino: number | null;
}

interface DenoApi {
  open(
    path: string,
    options: { read: boolean; write?: boolean; createNew?: boolean },
  ): Promise<DenoFile>;
  mkdir(path: string): Promise<void>;
  link(existing: string, target: string): Promise<void>;
  rename(from: string, target: string): Promise<void>;
  readDir(path: string): AsyncIterable<{ name: string } & Omit<DenoFileInfo, "size">>;
  lstat(path: string): Promise<DenoFileInfo>;
  lstatSync(path: string): DenoFileInfo;
  realPath(path: string): Promise<string>;
}

const SEEK_FROM_START = 0;

/** The API of the running Deno; undefined on other runtimes. */
function denoApi(): DenoApi | undefined {
  return (globalThis as { Deno?: DenoApi }).Deno;
}

function typeOf(info: Pick<DenoFileInfo, "isFile" | "isDirectory" | "isSymlink">): FileType {
  if (info.isFile) return "file";
  if (info.isDirectory) return "directory";
  return info.isSymlink ? "symlink" : "other";
}

function statOf(info: DenoFileInfo): FileStat {
  return {
    type: typeOf(info),
    size: info.size,
    modifiedMs: info.mtime?.getTime() ?? 0,
    identity: `${info.dev}:${info.ino}`,
  };
}

class DenoFileHandle implements FileHandle {
  readonly #file: DenoFile;
  #isOpen = true;
  /** The calls that wait for the file's one position. */
  #turn: Promise<unknown> | undefined;
  /** Where the file's position is; undefined while a call moves it. */
  #position: number | undefined = 0;
  /** Counts the calls that move it. */
  #moves = 0;

  constructor(file: DenoFile) {
    this.#file = file;
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    const file = this.#open();
    return await this.#at(
      position,
      target.length <= SYNC_BYTES_MAX ? () => file.readSync(target) : () => file.read(target),
    );
  }

  async write(source: Uint8Array, position: number): Promise<number> {
    const file = this.#open();
    return await this.#at(
      position,
      source.length <= SYNC_BYTES_MAX ? () => file.writeSync(source) : () => file.write(source),
    );
  }

  async datasync(): Promise<void> {
    await this.#open().syncData();
  }

  async sync(): Promise<void> {
    await this.#open().sync();
  }

  async stat(): Promise<FileStat> {
    return statOf(await this.#open().stat());
  }

  tryLock(): boolean {
    return this.#open().tryLockSync(true);
  }

  // deno-lint-ignore require-await -- a synchronous failure must reject, not throw
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#file.close();
  }

  #open(): DenoFile {
    if (!this.#isOpen) throw new TypeError("Cannot use the file: it is closed");
    return this.#file;
  }

  /** Makes a call at a position, after those that were asked for before. */
  async #at(
    position: number,
    call: () => number | null | Promise<number | null>,
  ): Promise<number> {
    const before = this.#turn;
    let move = 0;
    const run = () => {
      move = ++this.#moves;
      if (this.#position !== position) this.#file.seekSync(position, SEEK_FROM_START);
      this.#position = undefined;
      return call();
    };
    const result = before === undefined ? run() : before.then(run, run);
    const count = (result instanceof Promise ? await this.#take(result) : result) ?? 0;
    // Another call may have begun before this one is told of its end.
    if (move === this.#moves) this.#position = position + count;
    return count;
  }

  async #take<T>(turn: Promise<T>): Promise<T> {
    this.#turn = turn;
    try {
      return await turn;
    } finally {
      if (this.#turn === turn) this.#turn = undefined;
    }
  }
}

/** The file system of Deno. */
export class DenoFileSystem extends NodeFileSystem {
  override readonly name: string = "deno";
  override readonly hasKernelLock: boolean = true;
  readonly #deno: DenoApi;

  /** @throws {TypeError} on another runtime */
  constructor() {
    super();
    const deno = denoApi();
    if (deno === undefined) {
      throw new TypeError(
        'Cannot use file system "deno": this is not Deno; use "auto" or "node"',
      );
    }
    this.#deno = deno;
  }

  override async open(path: string, mode: OpenMode): Promise<FileHandle> {
    if (mode === "create") {
      return new DenoFileHandle(
        await this.#deno.open(path, { read: true, write: true, createNew: true }),
      );
    }
    // Deno takes no flag against following a link: look before, and compare after.
    const named = this.statSync(path);
    if (named?.type === "symlink") throw linkError(path);
    const file = await this.#deno.open(path, { read: true, write: mode === "update" });
    const { identity } = statOf(file.statSync());
    if (named?.identity !== identity && this.statSync(path)?.identity !== identity) {
      file.close();
      throw linkError(path);
    }
    return new DenoFileHandle(file);
  }

  override async mkdir(path: string): Promise<void> {
    await this.#deno.mkdir(path);
  }

  override async link(existing: string, target: string): Promise<void> {
    await this.#deno.link(existing, target);
  }

  override async rename(from: string, target: string): Promise<void> {
    await this.#deno.rename(from, target);
  }

  override async readDirectory(path: string): Promise<DirectoryEntry[]> {
    const entries: DirectoryEntry[] = [];
    for await (const entry of this.#deno.readDir(path)) {
      entries.push({ name: entry.name, type: typeOf(entry) });
    }
    return entries;
  }

  override async openDirectory(path: string): Promise<DirectoryHandle> {
    // Deno takes no flag that wants a directory; the slash at the end does.
    return new DenoFileHandle(await this.#deno.open(`${path}/`, { read: true }));
  }

  override async stat(path: string): Promise<FileStat | undefined> {
    try {
      return statOf(await this.#deno.lstat(path));
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  override statSync(path: string): FileStat | undefined {
    try {
      return statOf(this.#deno.lstatSync(path));
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  override realPath(path: string): Promise<string> {
    return this.#deno.realPath(path);
  }
}

function linkError(path: string): Error {
  return Object.assign(new Error(`ELOOP: is a symbolic link, open '${path}'`), { code: "ELOOP" });
}
