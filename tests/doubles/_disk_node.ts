/**
 * Files and folders of the forgetting disk: each as it is seen, as it is on disk, and what lies between.
 * @module
 */
import type { SeededRandom } from "./seeded_random.ts";

/** How much of what was not synced a crash takes away. */
export type CrashMode = "kill" | "power-cut" | "random-power-cut";

/** Part of the disk that is written whole or not at all. */
const SECTOR_BYTES = 512;

/** Bytes that grow. */
class GrowingBytes {
  #bytes: Uint8Array = new Uint8Array(0);
  length = 0;

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  write(source: Uint8Array, position: number): void {
    const end = position + source.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2, 256));
      grown.set(this.view());
      this.#bytes = grown;
    }
    this.#bytes.set(source, position);
    this.length = Math.max(this.length, end);
  }

  replace(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.length = bytes.length;
  }
}

interface PendingWrite {
  readonly position: number;
  readonly bytes: Uint8Array;
}

/** A file. */
export class FileNode {
  readonly type = "file";
  /** Names that it has. */
  links = 0;
  /** Handles that hold it. */
  opens = 0;
  modifiedMs = 0;
  /** Syncs that failed and lost what they were to write; whoever has it open then is told once. */
  failures = 0;
  /** Whoever holds the kernel's lock. */
  lockedBy: object | undefined;
  readonly #seen = new GrowingBytes();
  readonly #onDisk = new GrowingBytes();
  #pending: PendingWrite[] = [];

  /** @param id Inode number. */
  constructor(public id: number) {}

  get size(): number {
    return this.#seen.length;
  }

  /** The bytes as they are seen; not a copy. */
  view(): Uint8Array {
    return this.#seen.view();
  }

  write(source: Uint8Array, position: number): void {
    const bytes = source.slice();
    this.#seen.write(bytes, position);
    this.#pending.push({ position, bytes });
  }

  sync(): void {
    for (const { position, bytes } of this.#pending) this.#onDisk.write(bytes, position);
    this.#pending = [];
  }

  /** What was written since the last sync stays readable, and never gets to the disk. */
  losePending(): void {
    this.failures++;
    this.#pending = [];
  }

  /** Bytes that a power cut may take. */
  get pendingBytes(): number {
    return this.#pending.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  crash(mode: CrashMode, random: SeededRandom): void {
    this.lockedBy = undefined;
    this.opens = 0;
    if (mode === "kill") return;
    if (mode === "random-power-cut") this.#keepSome(random);
    this.#pending = [];
    this.#seen.replace(this.#onDisk.view().slice());
  }

  #keepSome(random: SeededRandom): void {
    const fate = random.pick(["all", "none", "prefix", "each"] as const);
    if (fate === "none") return;
    if (fate === "all") return this.sync();
    let left = fate === "prefix" ? random.below(this.pendingBytes + 1) : Infinity;
    for (const { position, bytes } of this.#pending) {
      const kept = fate === "prefix"
        ? bytes.subarray(0, Math.min(left, bytes.length))
        : damage(bytes, random);
      left -= kept.length;
      if (kept.length > 0) this.#onDisk.write(kept, position);
    }
  }
}

/** One write as a power cut may leave it: whole, absent, cut, zeros, or with a sector that never came. */
function damage(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  switch (random.pick(["whole", "absent", "cut", "zeros", "hole"] as const)) {
    case "whole":
      return bytes;
    case "absent":
      return bytes.subarray(0, 0);
    case "cut":
      return bytes.subarray(0, random.below(bytes.length + 1));
    case "zeros":
      return new Uint8Array(bytes.length);
    case "hole": {
      const holed = bytes.slice();
      const from = random.below(Math.ceil(bytes.length / SECTOR_BYTES)) * SECTOR_BYTES;
      holed.fill(0, from, from + SECTOR_BYTES);
      return holed;
    }
  }
}

/** A file or folder. */
export type DiskNode = FileNode | FolderNode;

/** A name that is given (to a node) or taken away. */
export interface NameChange {
  readonly name: string;
  readonly node: DiskNode | undefined;
}

/** A folder. */
export class FolderNode {
  readonly type = "directory";
  links = 0;
  opens = 0;
  modifiedMs = 0;
  /** As of a file. */
  failures = 0;
  #seen = new Map<string, DiskNode>();
  #onDisk = new Map<string, DiskNode>();
  /** Each is one step of the file system: its names change together, or not. */
  #pending: (readonly NameChange[])[] = [];

  /** @param id Inode number. */
  constructor(public id: number) {}

  get size(): number {
    return this.#seen.size;
  }

  entries(): IterableIterator<[string, DiskNode]> {
    return this.#seen.entries();
  }

  get(name: string): DiskNode | undefined {
    return this.#seen.get(name);
  }

  /** Changes names in one step. */
  change(changes: readonly NameChange[]): void {
    for (const { name, node } of changes) {
      const old = this.#seen.get(name);
      if (old !== undefined) old.links--;
      if (node !== undefined) node.links++;
    }
    applyChanges(this.#seen, changes);
    this.#pending.push(changes);
  }

  sync(): void {
    for (const changes of this.#pending) applyChanges(this.#onDisk, changes);
    this.#pending = [];
  }

  /** What changed since the last sync stays to be seen, and never gets to the disk. */
  losePending(): void {
    this.failures++;
    this.#pending = [];
  }

  /** Settles this folder and all below it. Links are counted anew: the caller sets them to 0 before. */
  crash(mode: CrashMode, random: SeededRandom, visited: Set<DiskNode>): void {
    this.opens = 0;
    if (mode !== "kill") {
      if (mode === "random-power-cut") this.#keepSome(random);
      this.#pending = [];
      this.#seen = new Map(this.#onDisk);
    }
    for (const node of this.#seen.values()) {
      if (!visited.has(node)) {
        visited.add(node);
        node.links = 0;
        node.crash(mode, random, visited);
      }
      node.links++;
    }
  }

  #keepSome(random: SeededRandom): void {
    const fate = random.pick(["all", "none", "prefix", "each"] as const);
    const end = fate === "prefix" ? random.below(this.#pending.length + 1) : this.#pending.length;
    if (fate === "none") return;
    for (const changes of this.#pending.slice(0, end)) {
      if (fate !== "each" || random.chance(0.5)) applyChanges(this.#onDisk, changes);
    }
  }
}

function applyChanges(names: Map<string, DiskNode>, changes: readonly NameChange[]): void {
  for (const { name, node } of changes) {
    if (node === undefined) names.delete(name);
    else names.set(name, node);
  }
}
