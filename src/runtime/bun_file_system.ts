/**
 * The file system port on Bun: `node:fs`, and the kernel's `flock` through Bun's FFI, which works in a
 * binary made by `bun build --compile` too.
 *
 * Bun's own file calls are not used: `Bun.write` has no sync, so a durable write would open the file again,
 * and `FileSink` followed by a sync is as fast as `node:fs` within the noise of the measurement.
 * @module
 */
import process from "node:process";
import type { FileHandle } from "../engine/port/file_system.ts";
import { NodeFileHandle, NodeFileSystem } from "./node_file_system.ts";

/** flock(2): exclusive, without waiting. */
const LOCK_EX_NB = 2 | 4;

/** C libraries, by platform: the GNU one, then musl's. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"],
  darwin: ["libSystem.B.dylib"],
};

type Flock = (descriptor: number, operation: number) => number;

/** The part of `bun:ffi` that is used here. */
interface Ffi {
  dlopen(
    library: string,
    symbols: { flock: { args: string[]; returns: string } },
  ): { symbols: { flock: Flock } };
}

/** `bun:ffi` as the runtime has it built in; an import would break the code on other runtimes. */
function builtInFfi(): Ffi | undefined {
  if (process.versions.bun === undefined) return undefined;
  return process.getBuiltinModule("bun:ffi") as unknown as Ffi | undefined;
}

function loadFlock(ffi: Ffi): Flock | undefined {
  for (const library of LIBRARIES[process.platform] ?? []) {
    try {
      return ffi.dlopen(library, { flock: { args: ["i32", "i32"], returns: "i32" } }).symbols.flock;
    } catch (error) {
      // Which library a system has is found by trying.
      if ((error as { code?: string }).code !== "ERR_DLOPEN_FAILED") throw error;
    }
  }
  return undefined;
}

/** The file system of Bun. */
export class BunFileSystem extends NodeFileSystem {
  override readonly name: string = "bun";
  override readonly hasKernelLock: boolean;
  readonly #lockFile: ((descriptor: number) => boolean) | undefined;

  /** @throws {TypeError} on another runtime */
  constructor() {
    super();
    const ffi = builtInFfi();
    if (ffi === undefined) {
      throw new TypeError('Cannot use file system "bun": this is not Bun; use "auto" or "node"');
    }
    const flock = loadFlock(ffi);
    this.hasKernelLock = flock !== undefined;
    this.#lockFile = flock && ((descriptor) => flock(descriptor, LOCK_EX_NB) === 0);
  }

  protected override handleOf(descriptor: number): FileHandle {
    return new NodeFileHandle(descriptor, this.#lockFile);
  }
}
