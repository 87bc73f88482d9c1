/**
 * A disk in memory that forgets at a crash whatever was not synced, data and names.
 *
 * ```ts
 * const disk = new ForgettingDisk({ seed: 1 });
 * const before = disk.fileSystem();   // a process: hand it to a PosixBackend
 * disk.crashAt(17, "before");         // or failAt, addFault, skip, freeBytes, shortWriteBytes
 * // … run until everything is rejected …
 * disk.crash("power-cut");            // what is found after
 * const after = disk.fileSystem();
 * ```
 *
 * A file's data is safe after `datasync` or `sync` of it, a name after a sync of its folder (in the log
 * `syncDirectory`). A sync that loses what it was to write is told of to every handle that was open then. A rename
 * within one folder is one step; every other change of a name stands alone, and none waits for another.
 * Identities are reused as inodes are. No symbolic links.
 * @module
 */
import type { Clock } from "../../src/engine/port/clock.ts";
import type { FileSystem } from "../../src/engine/port/file_system.ts";
import {
  type CallExtent,
  type CallKind,
  CrashedError,
  type DiskCall,
  type DiskFault,
  errnoError,
  SYNC_CALLS,
} from "./_disk_faults.ts";
import { type CrashMode, type DiskNode, FileNode, FolderNode } from "./_disk_node.ts";
import { DiskProcess } from "./_disk_process.ts";
import { SeededRandom } from "./seeded_random.ts";

export {
  type CallKind,
  CHANGING_CALLS,
  CrashedError,
  type DiskCall,
  type DiskFault,
  SYNC_CALLS,
} from "./_disk_faults.ts";
export type { CrashMode } from "./_disk_node.ts";

/** Options of {@link ForgettingDisk}. */
export interface ForgettingDiskOptions {
  /** What a random power cut takes, and how long calls wait. @default 1 */
  seed?: number;
  /** Gives files their times. @default all times are 0 */
  clock?: Clock;
  /** Whether `tryLock` takes a kernel lock. @default true */
  hasKernelLock?: boolean;
  /** Folders that are there, durably, at the start. @default ["/disk"] */
  folders?: readonly string[];
  /** Magic number that `statFileSystem` tells. @default 0xef53, ext4 */
  type?: number;
  /** Up to so many turns of the microtask queue pass before an asynchronous call takes effect. @default 0 */
  delayTurnsMax?: number;
}

/** Bytes of a disk that is not limited, for `statFileSystem`. */
const TOTAL_BYTES = 2 ** 40;

/** The disk. What processes it has, {@link fileSystem} makes. */
export class ForgettingDisk {
  readonly seed: number;
  readonly hasKernelLock: boolean;
  /** Every call so far. */
  readonly log: DiskCall[] = [];
  /** Bytes that files may still grow by; a write beyond takes what fits, the next one is `ENOSPC`. */
  freeBytes = Infinity;
  /** Most bytes that one write takes: 0 makes it answer 0. */
  shortWriteBytes = Infinity;
  /** Root of the tree, for {@link DiskProcess}. */
  readonly root: FolderNode = new FolderNode(2);
  readonly #random: SeededRandom;
  readonly #clock: Clock | undefined;
  readonly #type: number;
  readonly #delayTurnsMax: number;
  readonly #processes = new Set<DiskProcess>();
  #faults: { fault: DiskFault; left: number }[] = [];
  #skips: ((call: DiskCall) => boolean)[] = [];
  #calls = 0;
  #isHalted = false;
  #nextId = 3;
  #freeIds: number[] = [];

  constructor(options: ForgettingDiskOptions = {}) {
    this.seed = options.seed ?? 1;
    this.hasKernelLock = options.hasKernelLock ?? true;
    this.#random = new SeededRandom(this.seed);
    this.#clock = options.clock;
    this.#type = options.type ?? 0xef53;
    this.#delayTurnsMax = options.delayTurnsMax ?? 0;
    for (const path of options.folders ?? ["/disk"]) this.#makeFolders(path);
  }

  /** The file system as a new process sees it. */
  fileSystem(): FileSystem & { kill(): void } {
    const process = new DiskProcess(this);
    this.#processes.add(process);
    return process;
  }

  /** Calls so far. */
  get calls(): number {
    return this.#calls;
  }

  /** Whether a planned crash has happened, and {@link crash} is due. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** Crashes at call `number` (counted as {@link calls}), before or after it takes effect. */
  crashAt(number: number, when: "before" | "after" = "before"): void {
    this.addFault({ matches: (call) => call.number === number, error: "crash", when });
  }

  /** Fails call `number`, before or after it takes effect. */
  failAt(number: number, errno: string, when: "before" | "after" = "before"): void {
    this.addFault({ matches: (call) => call.number === number, error: errno, when });
  }

  /** Plans any fault. */
  addFault(fault: DiskFault): void {
    this.#faults.push({ fault, left: fault.times ?? 1 });
  }

  /** Makes syncs do nothing and say yes. They stay skipped after a crash. */
  skip(matches: (call: DiskCall) => boolean): void {
    this.#skips.push(matches);
  }

  /** Takes back all faults and skips that were planned. */
  clearFaults(): void {
    this.#faults = [];
    this.#skips = [];
  }

  /**
   * Ends every process, and leaves the disk as it is found after:
   * `kill` (kill -9) keeps all that was seen, unsynced as it was; `power-cut` loses all that was not synced;
   * `random-power-cut` loses, by the seed, some of it, with torn and zeroed data. Faults end, skips stay.
   */
  crash(mode: CrashMode): void {
    for (const process of this.#processes) process.kill();
    this.#processes.clear();
    this.#isHalted = false;
    this.#faults = [];
    const usedBefore = this.#usedBytes();
    this.root.crash(mode, this.#random, new Set([this.root]));
    this.freeBytes += usedBefore - this.#usedBytes();
    this.#collectIds();
  }

  /** Runs one call of a process. */
  call<T>(kind: CallKind, path: string, effect: (extent: CallExtent) => T, lose?: () => void): T {
    if (this.#isHalted) throw new CrashedError(`The disk crashed before ${kind} '${path}'`);
    const call: DiskCall = { number: ++this.#calls, kind, path };
    this.log.push(call);
    const isSkipped = SYNC_CALLS.has(kind) && this.#skips.some((matches) => matches(call));
    if (isSkipped) call.fault = "skip";
    const planned = this.#faults.find(({ fault, left }) => left > 0 && fault.matches(call));
    const extent = isSkipped ? "none" : "whole";
    if (planned === undefined) return effect(extent);
    planned.left--;
    const { error, when = "before", losesPending = false } = planned.fault;
    call.fault = error;
    if (when === "after") effect(extent);
    if (when === "cut" && kind === "write") effect("half");
    if (losesPending) lose?.();
    if (error === "crash") {
      this.#isHalted = true;
      throw new CrashedError(`The disk crashed ${when} ${kind} '${path}' (call ${call.number})`);
    }
    throw errnoError(error, kind, path);
  }

  /** Lets some turns of the microtask queue pass, by the seed. */
  async delay(): Promise<void> {
    if (this.#delayTurnsMax === 0) return;
    for (let turns = this.#random.below(this.#delayTurnsMax + 1); turns > 0; turns--) await null;
  }

  /** A new file or folder, not named yet. */
  makeNode(type: "file" | "directory"): DiskNode {
    const id = this.#freeIds.pop() ?? this.#nextId++;
    const node = type === "file" ? new FileNode(id) : new FolderNode(id);
    this.touch(node);
    return node;
  }

  /** Sets a node's time. */
  touch(node: DiskNode): void {
    node.modifiedMs = this.#clock?.nowMs() ?? 0;
  }

  /** Gives up a node that has neither name nor handle; its identity may be another's from now on. */
  release(node: DiskNode): void {
    if (node.links > 0 || node.opens > 0) return;
    if (node.type === "file") this.freeBytes += node.size;
    this.#freeIds.push(node.id);
  }

  /** How much of a write of `wanted` bytes, which grows the file by `growth`, is taken. */
  admit(wanted: number, growth: number, path: string): number {
    const overwritten = wanted - growth;
    const room = Math.max(0, overwritten + this.freeBytes);
    const count = Math.min(wanted, this.shortWriteBytes, room);
    if (count === 0 && wanted > 0 && this.shortWriteBytes > 0) {
      throw errnoError("ENOSPC", "write", path);
    }
    this.freeBytes -= Math.max(0, count - overwritten);
    return count;
  }

  /** Space, for `statFileSystem`. */
  space(): { type: number; freeBytes: number; totalBytes: number } {
    const freeBytes = Math.min(this.freeBytes, TOTAL_BYTES);
    return { type: this.#type, freeBytes, totalBytes: TOTAL_BYTES };
  }

  #makeFolders(path: string): void {
    let folder = this.root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      let next = folder.get(name);
      if (next === undefined) {
        next = this.makeNode("directory");
        folder.change([{ name, node: next }]);
        folder.sync();
      }
      if (next.type !== "directory") throw new TypeError(`'${path}' is not a folder`);
      folder = next;
    }
  }

  *#nodes(): Generator<DiskNode> {
    const visited = new Set<DiskNode>([this.root]);
    for (const node of visited) {
      yield node;
      if (node.type === "directory") { for (const [, below] of node.entries()) visited.add(below); }
    }
  }

  #usedBytes(): number {
    let bytes = 0;
    for (const node of this.#nodes()) if (node.type === "file") bytes += node.size;
    return bytes;
  }

  /** What came back may have had its inode number given to another meanwhile. */
  #collectIds(): void {
    this.#freeIds = [];
    const taken = new Set<number>();
    for (const node of this.#nodes()) {
      if (taken.has(node.id)) node.id = this.#nextId++;
      taken.add(node.id);
    }
  }
}
