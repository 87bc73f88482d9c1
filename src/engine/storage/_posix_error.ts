/**
 * The POSIX backend's one map from what the file system says to what the engine says.
 * What is not known to mean something else stays `storage-unavailable`; nothing is ever guessed to be absent.
 * @module
 */
import { type ErrorCode, type Outcome, TidemarkError } from "../errors.ts";
import { errnoOf, NOT_CAPABLE, type PosixPorts } from "./_posix_context.ts";

const CODE_OF_ERRNO: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: "storage-full",
  EDQUOT: "storage-full",
  EACCES: "storage-denied",
  EPERM: "storage-denied",
  EROFS: "storage-denied",
  [NOT_CAPABLE]: "storage-denied",
  ELOOP: "symbolic-link",
};

const REASON_OF_ERRNO: Readonly<Record<string, string>> = {
  EROFS: "the file system is mounted read-only; mount it writable, or choose another store folder",
  ELOOP: "it is a symbolic link; put the file or folder itself in its place",
  EMFILE: "the process has too many open files; raise its limit (ulimit -n)",
  ENFILE: "the machine has too many open files",
  EIO: "the disk reported an error; check the disk and the system log",
  NO_PROGRESS: "a write took none of the bytes, without a reason; check the disk",
  ENOENT: "a file or folder of the store vanished",
};

/** Code of the error when a write took nothing. */
export const NO_PROGRESS = "NO_PROGRESS";

/** What was tried when a call failed. */
export interface FailedCall {
  /** What was to be done, as a verb: `write`, `read`, … */
  readonly action: string;
  readonly path: string;
  /** Whether the call may have taken effect. @default "not-applied" */
  readonly outcome?: Outcome;
  /** Bytes that were to be written. @default not said */
  readonly wantedBytes?: number;
}

/** Maps a failure, without asking the file system anything. */
export function posixError(ports: PosixPorts, error: unknown, failed: FailedCall): TidemarkError {
  return describe(ports, error, failed, undefined);
}

/**
 * Maps a failure. For a full disk it asks how much is free.
 *
 * @param root The store's folder, to tell a lost store from a lost file.
 */
export async function explainPosixError(
  ports: PosixPorts,
  root: string,
  error: unknown,
  failed: FailedCall,
): Promise<TidemarkError> {
  const errno = errnoOf(error);
  if (errno === "ENOENT" && await isMissing(ports, root)) {
    return storeNotFound(root, failed, error);
  }
  const isFull = errno !== undefined && CODE_OF_ERRNO[errno] === "storage-full";
  return describe(ports, error, failed, isFull ? await freeBytesOf(ports, root) : undefined);
}

/** The store's folder does not exist. */
export function storeNotFound(root: string, failed: FailedCall, cause?: unknown): TidemarkError {
  return new TidemarkError(
    "store-not-found",
    `Cannot ${failed.action} ${JSON.stringify(failed.path)}: the store folder ${
      JSON.stringify(root)
    } does not exist; check its path, and that its disk is mounted`,
    { outcome: failed.outcome, details: { path: failed.path, root }, cause },
  );
}

function describe(
  ports: PosixPorts,
  error: unknown,
  failed: FailedCall,
  freeBytes: number | undefined,
): TidemarkError {
  if (error instanceof TidemarkError) return error;
  const { action, path, outcome, wantedBytes } = failed;
  const errno = errnoOf(error);
  const code = errno === undefined ? "internal" : CODE_OF_ERRNO[errno] ?? "storage-unavailable";
  const details = { path, errno, user: ports.process.user, wantedBytes, freeBytes };
  return new TidemarkError(
    code,
    `Cannot ${action} ${JSON.stringify(path)}: ${reasonOf(ports, error, code, details)}`,
    { outcome, details, cause: error },
  );
}

function reasonOf(
  ports: PosixPorts,
  error: unknown,
  code: ErrorCode,
  details: { errno?: string; path: string; wantedBytes?: number; freeBytes?: number },
): string {
  const { errno, wantedBytes, freeBytes } = details;
  if (code === "storage-full") {
    const full = errno === "EDQUOT"
      ? `the disk quota of user ${ports.process.user} is used up`
      : "the disk is full";
    const wanted = wantedBytes === undefined ? "" : `, asked for ${wantedBytes} bytes`;
    const free = freeBytes === undefined ? "" : `, ${freeBytes} bytes are free`;
    return `${full} (${errno})${wanted}${free}; make room, then try again`;
  }
  const known = errno === undefined ? undefined : REASON_OF_ERRNO[errno];
  if (known !== undefined) return `${known} (${errno}, as user ${ports.process.user})`;
  if (errno === NOT_CAPABLE) return `the runtime was not given the permission: ${textOf(error)}`;
  if (code === "storage-denied") {
    return `user ${ports.process.user} may not (${errno}); give that user read and write ` +
      `access to it and to its folder, or run as its owner`;
  }
  const text = textOf(error);
  return errno === undefined ? `an unexpected error: ${text}` : `the file system says ${text}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function isMissing(ports: PosixPorts, root: string): Promise<boolean> {
  try {
    return await ports.fileSystem.stat(root) === undefined;
  } catch (error) {
    // The failure that is being explained stands; what kept it from being explained is of use too.
    ports.logger.log("warning", "The store folder could not be looked up", { root, error });
    return false;
  }
}

async function freeBytesOf(ports: PosixPorts, root: string): Promise<number | undefined> {
  try {
    return (await ports.fileSystem.statFileSystem(root)).freeBytes;
  } catch (error) {
    ports.logger.log("warning", "The free space could not be asked for", { root, error });
    return undefined;
  }
}
