/**
 * The file system as the POSIX backend sees it: the calls of POSIX, each exactly once, with no policy.
 * A call that fails rejects (or throws, where it is synchronous) with an `Error` whose `code` is the errno's name,
 * such as `ENOENT`. Nothing here retries, loops or syncs on its own.
 */

/** What a directory entry is. */
export type FileType = "file" | "directory" | "symlink" | "other";

/** What `stat` tells of a file. */
export interface FileStat {
  readonly type: FileType;
  /** Size in bytes. */
  readonly size: number;
  /** Time of the last change of the content, in milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Device and inode, as one word. Two names with the same identity are one file. */
  readonly identity: string;
}

/** One entry of a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly type: FileType;
}

/** What `statfs` tells of a file system. */
export interface FileSystemStat {
  /** Magic number of the file system's type, as in statfs(2). */
  readonly type: number;
  /** Bytes that an ordinary user can still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** How to open a file. `create` is O_RDWR|O_CREAT|O_EXCL; `update` is O_RDWR of an existing file. */
export type OpenMode = "read" | "create" | "update";

/** An open file. */
export interface FileHandle {
  /** pread(2): reads up to `target.length` bytes at `position`; answers how many, 0 at the end. */
  read(target: Uint8Array, position: number): Promise<number>;
  /** pwrite(2): writes up to `source.length` bytes at `position`; answers how many, which may be fewer. */
  write(source: Uint8Array, position: number): Promise<number>;
  /** fdatasync(2). */
  datasync(): Promise<void>;
  /** fsync(2). */
  sync(): Promise<void>;
  /** fstat(2). */
  stat(): Promise<FileStat>;
  /** Takes the kernel's exclusive lock without waiting, where the runtime can; undefined where it can't. */
  tryLock(): boolean | undefined;
  /** close(2). */
  close(): Promise<void>;
}

/**
 * An open directory, through which its names are made durable.
 *
 * Linux tells of a write-back that failed once to every handle that was open then, and to none that is opened
 * later: there a sync says yes although the names are not on disk. So a handle vouches only for names that were
 * made after it was opened, only until a sync of it has failed, and is never shared by two who rely on it.
 */
export interface DirectoryHandle {
  /** fsync(2): makes the names in the directory durable. */
  sync(): Promise<void>;
  /** close(2). */
  close(): Promise<void>;
}

/** The file system's port. */
export interface FileSystem {
  /** Which implementation this is, such as `node`. */
  readonly name: string;
  /** Whether {@link FileHandle.tryLock} takes a kernel lock. */
  readonly hasKernelLock: boolean;
  /** open(2); never follows a symbolic link in the last part of the path. */
  open(path: string, mode: OpenMode): Promise<FileHandle>;
  /** mkdir(2): one directory. */
  mkdir(path: string): Promise<void>;
  /** link(2): fails with EEXIST when `target` exists. */
  link(existing: string, target: string): Promise<void>;
  /** rename(2): replaces `target`. */
  rename(from: string, target: string): Promise<void>;
  /** unlink(2). */
  unlink(path: string): Promise<void>;
  /** rmdir(2). */
  rmdir(path: string): Promise<void>;
  /** readdir(3), in no particular order. */
  readDirectory(path: string): Promise<DirectoryEntry[]>;
  /** open(2) of a directory; follows symbolic links. */
  openDirectory(path: string): Promise<DirectoryHandle>;
  /** lstat(2); undefined when there is no such name. */
  stat(path: string): Promise<FileStat | undefined>;
  /** lstat(2), synchronous; undefined when there is no such name. */
  statSync(path: string): FileStat | undefined;
  /** realpath(3). */
  realPath(path: string): Promise<string>;
  /** statfs(2). */
  statFileSystem(path: string): Promise<FileSystemStat>;
}
