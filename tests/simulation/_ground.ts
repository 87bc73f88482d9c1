/**
 * What a life stands on: a disk that forgets, or objects in memory. Counts the calls, and makes one of them go wrong.
 * @module
 */
import type { Ports } from "../../src/engine/port/ports.ts";
import { TidemarkError } from "../../src/engine/errors.ts";
import type { StorageBackend } from "../../src/engine/storage/backend.ts";
import { MemoryBackend } from "../../src/engine/storage/memory_backend.ts";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import { type BackendCallKind, FaultyBackend } from "../doubles/faulty_backend.ts";
import { fixedProcessInfo } from "../doubles/fixed_process_info.ts";
import {
  type CallKind,
  CHANGING_CALLS,
  type CrashMode,
  ForgettingDisk,
  SYNC_CALLS,
} from "../doubles/forgetting_file_system.ts";
import { ManualClock } from "../doubles/manual_clock.ts";

/**
 * What goes wrong at a call: it fails, before or after it took effect; half of a write is there; the process ends,
 * before or after; no room is left from there on; a sync fails, and says yes from then on without having done it.
 */
export const FAULTS = [
  "fails",
  "answer lost",
  "cut short",
  "crash before",
  "crash after",
  "full",
  "sync lies",
] as const;
export type Fault = typeof FAULTS[number];

/** A storage call. */
export interface GroundCall {
  readonly kind: string;
  /** Key or path below the store. */
  readonly path: string;
}

export interface Ground {
  readonly name: string;
  /** Calls so far. */
  readonly calls: readonly GroundCall[];
  /** How many they are. */
  readonly callCount: number;
  /** Whether the planned fault has struck. */
  readonly hasStruck: boolean;
  /** Whether every call fails until {@link crash}. */
  readonly isDown: boolean;
  /** Kinds of call that a fault makes sense of. */
  kindsOf(fault: Fault): ReadonlySet<string> | undefined;
  /** Makes one call go wrong, counted from 1. */
  plan(fault: Fault, number: number): void;
  /** Storage as a new process sees it. */
  backend(ports: Ports): StorageBackend;
  /** Ends every process, and every fault. */
  crash(mode: CrashMode): void;
  /** Everything that is in the store, by key. */
  objects(): Promise<Map<string, Uint8Array>>;
}

const ROOT = "/disk/store";
const TAKES_ROOM: ReadonlySet<CallKind> = new Set<CallKind>(["create", "mkdir", "link", "write"]);

/** Calls are those of the file system. */
export class DiskGround implements Ground {
  readonly name = "disk";
  readonly #disk: ForgettingDisk;

  constructor(seed: number) {
    this.#disk = new ForgettingDisk({ seed });
  }

  get callCount(): number {
    return this.#disk.calls;
  }

  get calls(): GroundCall[] {
    return this.#disk.log.map(({ kind, path }) => ({ kind, path: path.replace(`${ROOT}/`, "") }));
  }

  get hasStruck(): boolean {
    return this.#disk.log.some(({ fault }) => fault !== undefined);
  }

  get isDown(): boolean {
    return this.#disk.isHalted;
  }

  kindsOf(fault: Fault): ReadonlySet<string> | undefined {
    switch (fault) {
      case "fails":
        return undefined;
      case "cut short":
        return new Set(["write"]);
      case "full":
        return TAKES_ROOM;
      case "sync lies":
        return SYNC_CALLS;
      default:
        return CHANGING_CALLS;
    }
  }

  plan(fault: Fault, number: number): void {
    const disk = this.#disk;
    const matches = (call: { number: number }): boolean => call.number === number;
    switch (fault) {
      case "fails":
        return disk.addFault({ matches, error: "EIO" });
      case "answer lost":
        return disk.addFault({ matches, error: "EIO", when: "after" });
      case "cut short":
        return disk.addFault({ matches, error: "EIO", when: "cut" });
      case "crash before":
        return disk.crashAt(number, "before");
      case "crash after":
        return disk.crashAt(number, "after");
      case "full":
        return disk.addFault({
          matches: (call) => call.number >= number && TAKES_ROOM.has(call.kind),
          error: "ENOSPC",
          times: Infinity,
        });
      case "sync lies":
        return disk.addFault({ matches, error: "EIO", losesPending: true });
    }
  }

  backend(ports: Ports): StorageBackend {
    const fileSystem = this.#disk.fileSystem();
    return new PosixBackend({ ...ports, process: fixedProcessInfo(), root: ROOT, fileSystem });
  }

  crash(mode: CrashMode): void {
    this.#disk.crash(mode);
  }

  objects(): Promise<Map<string, Uint8Array>> {
    const objects = new Map<string, Uint8Array>();
    type Folder = ForgettingDisk["root"];
    const walk = (folder: Folder, path: string): void => {
      for (const [name, node] of folder.entries()) {
        const below = `${path}/${name}`;
        if (node.type === "directory") walk(node, below);
        else if (below.startsWith(`${ROOT}/`)) {
          objects.set(below.slice(ROOT.length + 1), node.view().slice());
        }
      }
    };
    walk(this.#disk.root, "");
    return Promise.resolve(objects);
  }
}

type Kinds = ReadonlySet<BackendCallKind>;
const CHANGES_OBJECTS: Kinds = new Set<BackendCallKind>([
  "put",
  "putIfAbsent",
  "delete",
  "createAppender",
  "write",
  "sync",
  "closeAppender",
  "lock",
  "pin",
]);
const NEEDS_ROOM: Kinds = new Set<BackendCallKind>([
  "put",
  "putIfAbsent",
  "createAppender",
  "write",
]);

/** Calls are those of the backend. */
export class MemoryGround implements Ground {
  readonly name = "memory";
  readonly #objects = new MemoryBackend({ clock: new ManualClock() });
  #processes: FaultyBackend[] = [];
  #planned: { fault: Fault; number: number } | undefined;
  readonly #log: GroundCall[] = [];
  #hasStruck = false;
  #isDown = false;

  get callCount(): number {
    return this.#log.length;
  }

  get calls(): readonly GroundCall[] {
    return this.#log;
  }

  get hasStruck(): boolean {
    return this.#hasStruck;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  kindsOf(fault: Fault): ReadonlySet<string> | undefined {
    switch (fault) {
      case "fails":
        return undefined;
      case "cut short":
        return new Set(["write"]);
      case "full":
        return NEEDS_ROOM;
      case "sync lies":
        // Memory has nothing that a sync could lose.
        return new Set();
      default:
        return CHANGES_OBJECTS;
    }
  }

  plan(fault: Fault, number: number): void {
    this.#planned = { fault, number };
  }

  backend(): StorageBackend {
    const backend = new FaultyBackend(this.#objects);
    this.#processes.push(backend);
    backend.decide = ({ kind, key }) => {
      this.#log.push({ kind, path: key });
      return this.#decide(kind);
    };
    return backend;
  }

  #decide(kind: BackendCallKind): { when: "before" | "after" | "cut"; error?: Error } | undefined {
    if (this.#isDown) return { when: "before" };
    if (this.#planned === undefined) return undefined;
    const { fault, number } = this.#planned;
    const isIt = this.#log.length === number;
    if (fault === "full") {
      if (this.#log.length < number || !NEEDS_ROOM.has(kind)) return undefined;
      this.#hasStruck = true;
      return { when: "before", error: new TidemarkError("storage-full", "Made by a test") };
    }
    if (!isIt) return undefined;
    this.#hasStruck = true;
    this.#isDown = fault.startsWith("crash");
    if (fault === "cut short") return { when: "cut" };
    return { when: fault === "answer lost" || fault === "crash after" ? "after" : "before" };
  }

  crash(): void {
    // What the processes that end still do fails; they are asked nothing any more.
    for (const process of this.#processes) process.decide = () => ({ when: "before" });
    this.#processes = [];
    this.#planned = undefined;
    this.#isDown = false;
  }

  async objects(): Promise<Map<string, Uint8Array>> {
    const objects = new Map<string, Uint8Array>();
    for await (const { key } of this.#objects.list("")) {
      objects.set(key, await this.#objects.get(key));
    }
    return objects;
  }
}
