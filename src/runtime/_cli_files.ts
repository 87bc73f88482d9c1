/** Files that are named as arguments. */
import {
  access,
  constants,
  type FileHandle,
  open,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type ErrorCode, TidemarkError } from "../engine/errors.ts";

/** A file that appears under its name only when it is whole. */
export interface OutputFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the file durable and gives it its name. */
  commit(): Promise<void>;
  /** Removes what was written, unless {@link commit} gave it its name. */
  discard(): Promise<void>;
}

/** A file of which parts are read. */
export interface InputFile {
  /** Size in bytes when it was opened. */
  readonly size: number;
  /** The bytes from `from` to before `to`; fewer where the file ends before. */
  read(from: number, to: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

const PIECE_BYTES = 1024 * 1024;
/** The part of a file's mode that says who may do what. */
const PERMISSIONS = 0o777;

const CODE_OF_ERRNO: Readonly<Record<string, ErrorCode>> = {
  ENOENT: "invalid-request",
  ENOTDIR: "invalid-request",
  EISDIR: "invalid-request",
  EACCES: "storage-denied",
  EPERM: "storage-denied",
  EROFS: "storage-denied",
  ENOSPC: "storage-full",
  EDQUOT: "storage-full",
};

const REASON_OF_ERRNO: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of the path is no folder",
  EISDIR: "it is a folder",
  EACCES: "permission is denied",
  EPERM: "it is not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the quota is used up",
};

/**
 * Says no to what can't be read, without opening it: opening a pipe would wait for its writer.
 *
 * @returns The size of a regular file.
 */
export async function checkInputFile(path: string): Promise<number | undefined> {
  return await attempt("read", path, async () => {
    const found = await stat(path);
    refuseDirectory(found);
    await access(path, constants.R_OK);
    // Files of /proc are of no size, and hold something.
    return found.isFile() && found.size > 0 ? found.size : undefined;
  });
}

/** A file's bytes, piece by piece. */
export async function* readFileInPieces(path: string): AsyncGenerator<Uint8Array> {
  const file = await attempt("read", path, () => open(path, "r"));
  try {
    while (true) {
      const piece = new Uint8Array(PIECE_BYTES);
      const { bytesRead } = await attempt("read", path, () => file.read(piece, 0, PIECE_BYTES));
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Opens a file to read parts of it. */
export async function openInputFile(path: string): Promise<InputFile> {
  const file = await attempt("read", path, () => open(path, "r"));
  const { size } = await attempt("read", path, () => file.stat());
  return {
    size,
    async read(from, to) {
      const bytes = new Uint8Array(to - from);
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await attempt(
          "read",
          path,
          () => file.read(bytes, length, bytes.length - length, from + length),
        );
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return bytes.subarray(0, length);
    },
    close: () => file.close(),
  };
}

/**
 * Begins a file that takes its name when it is whole; what is no regular file, such as a device,
 * is written as it is. A file that is replaced leaves its permissions to the new one.
 */
export async function createOutputFile(path: string): Promise<OutputFile> {
  const { target, mode, isReplaced } = await attempt("write", path, () => targetOf(path));
  if (!isReplaced) return writerOf(path, await attempt("write", path, () => open(target, "r+")));
  const temporary = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}.tmp`);
  const file = await attempt("write", path, () => open(temporary, "wx", mode));
  const output = writerOf(path, file, { temporary, target });
  try {
    // The umask may have taken some of them away.
    if (mode !== undefined) await attempt("write", path, () => setMode(file, mode));
  } catch (error) {
    await output.discard();
    throw error;
  }
  return output;
}

interface Target {
  readonly target: string;
  /** Whether it is, or will be, a regular file. */
  readonly isReplaced: boolean;
  /** Permissions of the file that is there. */
  readonly mode?: number;
}

async function targetOf(path: string): Promise<Target> {
  try {
    const target = await realpath(path);
    const found = await stat(target);
    refuseDirectory(found);
    return { target, isReplaced: found.isFile(), mode: found.mode & PERMISSIONS };
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return { target: path, isReplaced: true };
    throw error;
  }
}

async function setMode(file: FileHandle, mode: number): Promise<void> {
  if (((await file.stat()).mode & PERMISSIONS) !== mode) await file.chmod(mode);
}

function refuseDirectory(found: { isDirectory(): boolean }): void {
  if (found.isDirectory()) throw Object.assign(new Error("is a directory"), { code: "EISDIR" });
}

function writerOf(
  path: string,
  file: FileHandle,
  names?: { readonly temporary: string; readonly target: string },
): OutputFile {
  let isOpen = true;
  let isNamed = names === undefined;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await file.close();
  };
  return {
    async write(bytes) {
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await attempt("write", path, () => file.write(bytes, at));
        at += bytesWritten;
      }
    },
    async commit() {
      await attempt("write", path, async () => {
        if (names !== undefined) await file.sync();
        await close();
        if (names === undefined) return;
        await rename(names.temporary, names.target);
        isNamed = true;
        await syncDirectory(dirname(names.target));
      });
    },
    async discard() {
      try {
        await close();
      } finally {
        if (names !== undefined && !isNamed) await rm(names.temporary, { force: true });
      }
    },
  };
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function attempt<T>(
  action: "read" | "write",
  path: string,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    const { code: errno, name } = cause as { code?: unknown; name?: unknown };
    const code = name === "NotCapable"
      ? "storage-denied"
      : CODE_OF_ERRNO[String(errno)] ?? "storage-unavailable";
    const reason = REASON_OF_ERRNO[String(errno)] ??
      (cause instanceof Error ? cause.message : String(cause));
    throw new TidemarkError(code, `Cannot ${action} ${path}: ${reason}`, {
      details: { path, errno },
      cause,
    });
  }
}
