/**
 * The lock that keeps two processes of one machine from taking a job from each other by mistake.
 * Owns: the file `LOCK`, its kernel lock, the refresh of its time. Does not own: safety; that is fencing's.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { LOCK_REFRESH_MS } from "../limits.ts";
import type { Timer } from "../port/clock.ts";
import type { FileHandle } from "../port/file_system.ts";
import { folderOf, temporaryName } from "./_keys.ts";
import { closeAfterFailure, discardTemporary, errnoOf, type PosixPorts } from "./_posix_context.ts";
import { explainPosixError, type FailedCall } from "./_posix_error.ts";
import type { PosixFolders } from "./_posix_folders.ts";
import {
  decodeLockRecord,
  encodeLockRecord,
  judgeOwner,
  type LockRecord,
  recordOf,
  type Verdict,
} from "./_posix_lock_record.ts";
import { writeFully } from "./_posix_writes.ts";
import type { LockOptions, OwnerLock } from "./backend.ts";

/** Tag of the lock's temporary name. */
const LOCK_TAG = "lock";
/** How often the lock is looked at anew because it changed meanwhile. */
const ATTEMPTS_MAX = 8;
/** Largest lock file that is read. */
const RECORD_BYTES_MAX = 4096;
/** A record that is just being refreshed may be seen half-written. */
const READS_MAX = 3;

interface FoundLock {
  readonly handle: FileHandle;
  readonly identity: string;
  readonly record: LockRecord | undefined;
}

interface OwnFile {
  readonly handle: FileHandle;
  /** Its temporary name. */
  readonly path: string;
  readonly record: LockRecord;
}

/** Takes the lock. @throws {TidemarkError} `job-busy` */
export async function takePosixLock(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
  options: LockOptions,
  onClose: (lock: OwnerLock) => void,
): Promise<OwnerLock> {
  const failed: FailedCall = { action: "lock", path: folders.pathOf(key) };
  try {
    await folders.make(folderOf(key), failed);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const lock = await tryToTake(ports, folders, key, options, onClose);
      if (lock !== undefined) return lock;
    }
  } catch (error) {
    throw await explainPosixError(ports, folders.root, error, failed);
  }
  throw new TidemarkError(
    "job-busy",
    `Cannot lock ${JSON.stringify(failed.path)}: other processes keep taking it; try again`,
    { details: { key } },
  );
}

/** Answers undefined when the lock changed hands meanwhile. */
async function tryToTake(
  ports: PosixPorts,
  folders: PosixFolders,
  key: string,
  options: LockOptions,
  onClose: (lock: OwnerLock) => void,
): Promise<OwnerLock | undefined> {
  const path = folders.pathOf(key);
  const found = await readLock(ports, path);
  try {
    const verdict = found === undefined ? { isAlive: false } : judgeOwner(
      found.record,
      // What is taken here is held until the file is replaced, so that one of many openers goes first.
      () => found.handle.tryLock(),
      ports.process,
      ports.clock.nowMs(),
    );
    if (verdict.isAlive && options.takeOver !== true) throw busyError(path, found?.record);
    const own = await writeOwn(ports, folders, folderOf(key));
    try {
      if (await place(ports, own, path, found?.identity)) {
        return new PosixOwnerLock(
          ports,
          { ...own, path },
          warningsOf(verdict, found?.record),
          onClose,
        );
      }
    } catch (error) {
      await discardOwn(ports, own);
      throw error;
    }
    await discardOwn(ports, own);
    return undefined;
  } finally {
    if (found !== undefined) await closeAfterFailure(ports, found.handle);
  }
}

async function readLock(ports: PosixPorts, path: string): Promise<FoundLock | undefined> {
  let handle: FileHandle;
  try {
    handle = await ports.fileSystem.open(path, "read");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { identity } = await handle.stat();
    let record: LockRecord | undefined;
    for (let read = 0; read < READS_MAX && record === undefined; read++) {
      const bytes = new Uint8Array(RECORD_BYTES_MAX);
      record = decodeLockRecord(bytes.subarray(0, await handle.read(bytes, 0)));
    }
    return { handle, identity, record };
  } catch (error) {
    await closeAfterFailure(ports, handle);
    throw error;
  }
}

async function writeOwn(
  ports: PosixPorts,
  folders: PosixFolders,
  folder: string,
): Promise<OwnFile> {
  const name = temporaryName(LOCK_TAG, ports.clock, ports.random);
  const path = folders.pathOf(folder === "" ? name : `${folder}/${name}`);
  const handle = await ports.fileSystem.open(path, "create");
  try {
    const hasKernelLock = handle.tryLock() === true;
    const record = recordOf(ports.process, hasKernelLock, ports.clock.nowMs());
    await writeFully(handle, encodeLockRecord(record), 0);
    return { handle, path, record };
  } catch (error) {
    await closeAfterFailure(ports, handle);
    await discardTemporary(ports, path);
    throw error;
  }
}

/** Gives the own file the lock's name, unless another lock has come to stand there since `expected`. */
async function place(
  ports: PosixPorts,
  own: OwnFile,
  path: string,
  expected: string | undefined,
): Promise<boolean> {
  const { fileSystem } = ports;
  if (expected === undefined) {
    try {
      await fileSystem.link(own.path, path);
    } catch (error) {
      if (errnoOf(error) === "EEXIST" || errnoOf(error) === "ENOENT") return false;
      throw error;
    }
    await discardTemporary(ports, own.path);
    return true;
  }
  if (fileSystem.statSync(path)?.identity !== expected) return false;
  try {
    await fileSystem.rename(own.path, path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
  // Where no kernel lock keeps others out, two may have replaced the same lock: the last one has it.
  return fileSystem.statSync(path)?.identity === (await own.handle.stat()).identity;
}

async function discardOwn(ports: PosixPorts, own: OwnFile): Promise<void> {
  await closeAfterFailure(ports, own.handle);
  await discardTemporary(ports, own.path);
}

function nameOf(record: LockRecord | undefined): string {
  return record === undefined
    ? "an unknown process"
    : `process ${record.pid} (${record.runtime}) on ${record.host}, last seen ` +
      new Date(record.timeMs).toISOString();
}

function warningsOf(verdict: Verdict, record: LockRecord | undefined): string[] {
  if (verdict.isAlive) return [`The job was taken over from ${nameOf(record)}`];
  return verdict.warning === undefined ? [] : [verdict.warning];
}

function busyError(path: string, record: LockRecord | undefined): TidemarkError {
  return new TidemarkError(
    "job-busy",
    `Cannot lock ${JSON.stringify(path)}: ${
      nameOf(record)
    } owns the job; stop it, open the job for ` +
      `reading, or take it over (takeOver: true)`,
    { details: { path, host: record?.host, pid: record?.pid, runtime: record?.runtime } },
  );
}

class PosixOwnerLock implements OwnerLock {
  readonly warnings: readonly string[];
  readonly #ports: PosixPorts;
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly #onClose: (lock: OwnerLock) => void;
  readonly #record: LockRecord;
  #timer: Timer | undefined;
  #refreshing: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(
    ports: PosixPorts,
    own: OwnFile,
    warnings: readonly string[],
    onClose: (lock: OwnerLock) => void,
  ) {
    this.#ports = ports;
    this.#handle = own.handle;
    this.#path = own.path;
    this.#record = own.record;
    this.warnings = warnings;
    this.#onClose = onClose;
    this.#scheduleRefresh();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #scheduleRefresh(): void {
    this.#timer = this.#ports.clock.schedule(LOCK_REFRESH_MS, () => {
      this.#refreshing = this.#write({ ...this.#record, timeMs: this.#ports.clock.nowMs() }).then(
        () => {
          if (this.#closing === undefined) this.#scheduleRefresh();
        },
      );
    });
  }

  async #close(): Promise<void> {
    this.#onClose(this);
    this.#timer?.cancel();
    await this.#refreshing;
    await this.#write({ ...this.#record, released: true, timeMs: this.#ports.clock.nowMs() });
    await closeAfterFailure(this.#ports, this.#handle);
  }

  /** Through the own descriptor: after another process replaced the name, this file is nobody's. */
  async #write(record: LockRecord): Promise<void> {
    try {
      await writeFully(this.#handle, encodeLockRecord(record), 0);
    } catch (error) {
      this.#ports.logger.log("warning", "The lock could not be refreshed", {
        path: this.#path,
        error,
      });
    }
  }
}
