/** Compiles the committed module once per process and makes instances of it. @module */
import { MODULE_BASE64 } from "./module.gen.ts";

const PAGE_BYTES = 65536;

/** What the module exports; addresses and lengths are bytes. */
export interface CodecExports {
  readonly memory: WebAssembly.Memory;
  readonly ARENA_START: WebAssembly.Global;
  readonly SLOP_BYTES: WebAssembly.Global;
  readonly HASH_STATE_BYTES: WebAssembly.Global;
  compress(source: number, length: number, target: number): number;
  decompress(source: number, length: number, target: number, capacity: number): number;
  xxh32(source: number, length: number): number;
  xxh32Begin(state: number): void;
  xxh32Update(state: number, source: number, length: number): void;
  xxh32Digest(state: number): number;
  xxh64(source: number, length: number): bigint;
  xxh64Begin(state: number): void;
  xxh64Update(state: number, source: number, length: number): void;
  xxh64Digest(state: number): bigint;
}

let compiled: WebAssembly.Module | undefined;

function compiledModule(): WebAssembly.Module {
  if (compiled === undefined) {
    const binary = atob(MODULE_BASE64);
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    compiled = new WebAssembly.Module(bytes);
  }
  return compiled;
}

/** Makes an instance whose memory has room for `arenaBytes` after the module's own part. */
export function instantiate(arenaBytes: number): CodecExports {
  const instance = new WebAssembly.Instance(compiledModule());
  const exports = instance.exports as unknown as CodecExports;
  const wantedBytes = exports.ARENA_START.value + arenaBytes;
  const missingBytes = wantedBytes - exports.memory.buffer.byteLength;
  if (missingBytes > 0) exports.memory.grow(Math.ceil(missingBytes / PAGE_BYTES));
  return exports;
}
