/**
 * What stands in `LOCK`, and whether its owner lives.
 * Owns: the content and the verdict. Does not own: the file.
 * @module
 */
import { LOCK_REFRESH_MS } from "../limits.ts";
import { type ProcessInfo, unseenBootId } from "../port/process_info.ts";

/** Size of the file, so that a refresh never changes it. */
const RECORD_BYTES_MIN = 512;

/** The owner's periods after which a time that was not refreshed counts as dead. */
const STALE_PERIODS = 3;

/** Content of `LOCK`. */
export interface LockRecord {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  readonly processStart: string;
  readonly runtime: string;
  /** Whether the owner holds a kernel lock on the file. */
  readonly kernelLock: boolean;
  /** Whether the owner let go. */
  readonly released: boolean;
  /** When the owner was last alive. */
  readonly timeMs: number;
}

/** The record of a process that takes the lock now. */
export function recordOf(process: ProcessInfo, kernelLock: boolean, timeMs: number): LockRecord {
  return {
    host: process.hostName,
    bootId: process.bootId,
    pid: process.processId,
    processStart: process.processStart,
    runtime: process.runtime,
    kernelLock,
    released: false,
    timeMs,
  };
}

/** One line of JSON, filled up with spaces to a fixed size. */
export function encodeLockRecord(record: LockRecord): Uint8Array {
  const { timeMs, ...rest } = record;
  const text = JSON.stringify({ ...rest, time: new Date(timeMs).toISOString() });
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.max(RECORD_BYTES_MIN, bytes.length + 2)).fill(0x20);
  padded.set(bytes);
  padded[padded.length - 1] = 0x0a;
  return padded;
}

/** Reads a record; undefined when it is none, as after a power cut. */
export function decodeLockRecord(bytes: Uint8Array): LockRecord | undefined {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (typeof found !== "object" || found === null) return undefined;
  const { host, bootId, pid, processStart, runtime, kernelLock, released, time } = found as Record<
    string,
    unknown
  >;
  const timeMs = typeof time === "string" ? Date.parse(time) : NaN;
  const isWhole = typeof host === "string" && typeof bootId === "string" &&
    typeof pid === "number" && typeof processStart === "string" && typeof runtime === "string" &&
    typeof kernelLock === "boolean" && typeof released === "boolean" && !Number.isNaN(timeMs);
  return isWhole
    ? { host, bootId, pid, processStart, runtime, kernelLock, released, timeMs }
    : undefined;
}

/** What is known of the lock's owner. */
export interface Verdict {
  readonly isAlive: boolean;
  /** What the next owner should be told. */
  readonly warning?: string;
}

/**
 * Whether the owner of a record lives.
 *
 * @param tryLock Takes the kernel lock: true when it was free, undefined where this runtime can't tell.
 */
export function judgeOwner(
  record: LockRecord | undefined,
  tryLock: () => boolean | undefined,
  process: ProcessInfo,
  nowMs: number,
): Verdict {
  if (record === undefined) {
    return tryLock() === false ? { isAlive: true } : {
      isAlive: false,
      warning: "The lock can't be read, as after a power cut; fencing decides who owns the job",
    };
  }
  if (record.released) return { isAlive: false };
  if (!isSameMachine(record, process)) {
    return {
      isAlive: false,
      warning:
        `The lock is of process ${record.pid} on ${record.host}, another machine or an earlier ` +
        `boot of this one; fencing decides who owns the job`,
    };
  }
  const isFree = record.kernelLock ? tryLock() : undefined;
  if (isFree !== undefined) return { isAlive: !isFree };
  if (!isRefreshed(record, nowMs)) return { isAlive: false };
  return { isAlive: process.isAlive(record.pid, record.processStart) !== false };
}

/** By the boot id; where one of them may not see it, by the host's name. */
function isSameMachine(record: LockRecord, process: ProcessInfo): boolean {
  if (record.bootId === process.bootId) return true;
  const isUnseen = record.bootId === unseenBootId(record.host) ||
    process.bootId === unseenBootId(process.hostName);
  return isUnseen && record.host === process.hostName;
}

/** Whether the owner has refreshed the time of a record lately. */
export function isRefreshed({ timeMs }: LockRecord, nowMs: number): boolean {
  // The clock is the same machine's, but it may have been set: far ahead is as stale as far behind.
  return Math.abs(nowMs - timeMs) <= STALE_PERIODS * LOCK_REFRESH_MS;
}
