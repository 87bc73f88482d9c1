/** Faults of the forgetting disk, as data. @module */

/**
 * A call of the file-system port. `create` is an `open` that creates; `fstat` is the `stat` of a handle;
 * `syncDirectory` is the `sync` of a directory's handle.
 */
export type CallKind =
  | "open"
  | "create"
  | "openDirectory"
  | "mkdir"
  | "link"
  | "rename"
  | "unlink"
  | "rmdir"
  | "readDirectory"
  | "syncDirectory"
  | "stat"
  | "statSync"
  | "realPath"
  | "statFileSystem"
  | "read"
  | "write"
  | "datasync"
  | "sync"
  | "fstat"
  | "tryLock"
  | "close";

/** Calls that change what the disk holds, or what of it is safe. */
export const CHANGING_CALLS: ReadonlySet<CallKind> = new Set<CallKind>([
  "create",
  "mkdir",
  "link",
  "rename",
  "unlink",
  "rmdir",
  "syncDirectory",
  "write",
  "datasync",
  "sync",
]);

/** Calls that make something durable. */
export const SYNC_CALLS: ReadonlySet<CallKind> = new Set<CallKind>([
  "datasync",
  "sync",
  "syncDirectory",
]);

/** One call, as logged. */
export interface DiskCall {
  /** Counts all calls of the disk, from 1. */
  readonly number: number;
  readonly kind: CallKind;
  /** What it was about: the name that is changed, where two are given. */
  readonly path: string;
  /** What went wrong with it on purpose: an errno's name, `crash` or `skip`. */
  fault?: string;
}

/** How much of a call takes effect: `none` of a sync that is skipped, `half` of a write that is cut. */
export type CallExtent = "whole" | "half" | "none";

/** Something that is to go wrong. */
export interface DiskFault {
  /** Which calls it is about. */
  matches(call: DiskCall): boolean;
  /** An errno's name, or `crash`: this call and all after it are rejected, until {@link ForgettingDisk.crash}. */
  readonly error: string;
  /** Whether the call takes effect nevertheless; `cut`: of a write, only the first half is there. @default "before" */
  readonly when?: "before" | "after" | "cut";
  /** How many calls it is about. @default 1 */
  readonly times?: number;
  /**
   * A failed sync loses what it was to write, for good. Handles that were open then are told at their next sync,
   * once; others are not: a later sync says yes without writing it. @default false
   */
  readonly losesPending?: boolean;
}

/** Every call after a crash, and the one in which it happened. */
export class CrashedError extends Error {
  override readonly name = "CrashedError";
  /** As a code of the port's errors, so that the engine takes it for one of the file system's. */
  readonly code = "ECRASHED";
}

/** An error as the port words it. */
export function errnoError(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: made by a test, ${call} '${path}'`), { code });
}
