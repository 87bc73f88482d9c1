/** Who holds a lock, seen from outside: reads it and takes nothing. @module */
import { hasCode } from "../errors.ts";
import type { StorageBackend } from "./backend.ts";
import { decodeLockRecord, isRefreshed } from "./_posix_lock_record.ts";

/** The process that a lock names. */
export interface LockHolder {
  readonly host: string;
  readonly pid: number;
  readonly runtime: string;
  /** When it last said that it lives, in milliseconds since 1970. */
  readonly seenAtMs: number;
  /** Whether it said so lately, and has not let go. */
  readonly isAlive: boolean;
}

/** Reads the lock; undefined where there is none, or none that can be read. */
export async function readLockHolder(
  backend: StorageBackend,
  key: string,
  nowMs: number,
): Promise<LockHolder | undefined> {
  try {
    const record = decodeLockRecord(await backend.get(key));
    if (record === undefined) return undefined;
    const { host, pid, runtime, timeMs, released } = record;
    const isAlive = !released && isRefreshed(record, nowMs);
    return { host, pid, runtime, seenAtMs: timeMs, isAlive };
  } catch (error) {
    if (hasCode(error, "object-not-found")) return undefined;
    throw error;
  }
}
