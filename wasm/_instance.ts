/** Compiles the committed modules once per process and makes instances of them. @module */
import { ARENA_START } from "./limits.ts";
import { MODULE_BASE64, SHARED_MODULE_BASE64 } from "./module.gen.ts";

const PAGE_BYTES = 65536;

/** What the module exports; addresses and lengths are bytes. */
export interface CodecExports {
  readonly memory: WebAssembly.Memory;
  readonly ARENA_START: WebAssembly.Global;
  readonly SLOP_BYTES: WebAssembly.Global;
  readonly HASH_STATE_BYTES: WebAssembly.Global;
  compress(source: number, length: number, target: number): number;
  decompress(source: number, length: number, target: number, capacity: number): number;
  encodeBlocks(...call: BlocksArguments): number;
  encodeBlocksBeside(
    source: number,
    length: number,
    blockBytes: number,
    target: number,
    entries: number,
    isCompressed: boolean,
  ): number;
  joinBlocks(end: number, from: number, length: number, frameState: number): number;
  xxh32(source: number, length: number): number;
  xxh32Begin(state: number): void;
  xxh32Update(state: number, source: number, length: number): void;
  xxh32Digest(state: number): number;
  xxh64(source: number, length: number): bigint;
  xxh64Begin(state: number): void;
  xxh64Update(state: number, source: number, length: number): void;
  xxh64Digest(state: number): bigint;
}

/** Arguments of `encodeBlocks`, in order; the last says whether to compress. */
export type BlocksArguments = readonly [
  source: number,
  length: number,
  blockBytes: number,
  target: number,
  contentState: number,
  frameState: number,
  entries: number,
  isCompressed: boolean,
];

/** What another thread needs for an instance of its own in the same memory. */
export interface SharedInstance {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
}

let compiled: WebAssembly.Module | undefined;
let compiledShared: WebAssembly.Module | undefined;

function compile(base64: string): WebAssembly.Module {
  return new WebAssembly.Module(Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)));
}

/** Makes an instance whose memory has room for `arenaBytes` after the module's own part. */
export function instantiate(arenaBytes: number): CodecExports {
  compiled ??= compile(MODULE_BASE64);
  const instance = new WebAssembly.Instance(compiled);
  const exports = instance.exports as unknown as CodecExports;
  const missingBytes = ARENA_START + arenaBytes - exports.memory.buffer.byteLength;
  if (missingBytes > 0) exports.memory.grow(Math.ceil(missingBytes / PAGE_BYTES));
  return exports;
}

/** The same, in a memory that another thread may work in. */
export function instantiateShared(arenaBytes: number): CodecExports & { shared: SharedInstance } {
  const module = compiledShared ??= compile(SHARED_MODULE_BASE64);
  const pages = Math.ceil((ARENA_START + arenaBytes) / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return { ...exports as unknown as CodecExports, memory, shared: { module, memory } };
}
