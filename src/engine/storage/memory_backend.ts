/**
 * Keeps objects in memory, with the semantics of a disk that loses nothing.
 * Owns: the objects. Does not own: durability (there is none beyond the process), locks between processes.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Clock } from "../port/clock.ts";
import { GuardedAppender } from "./_guarded_appender.ts";
import { checkKey, checkPrefix, checkTag, checkTemporaryKey } from "./_keys.ts";
import { abortedError, checkRange, noObjectError } from "./_refusals.ts";
import type {
  Appender,
  GetOptions,
  ObjectInfo,
  OwnerLock,
  PinnedKey,
  PutOptions,
  StorageBackend,
  TemporaryInfo,
} from "./backend.ts";

interface MemoryObject {
  bytes: Uint8Array;
  length: number;
  modifiedMs: number;
}

/** Options of {@link MemoryBackend}. */
export interface MemoryBackendOptions {
  /** Gives objects their times. */
  clock: Clock;
  /** Bytes that all objects together may have; a write beyond is `storage-full`. @default no limit */
  bytesMax?: number;
}

const APPEND_BYTES_INITIAL = 4096;

/** A {@link StorageBackend} in memory. What it holds outlives `close`, so that a store can be opened again. */
export class MemoryBackend implements StorageBackend {
  readonly name = "memory";
  readonly location = "memory";
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #objects = new Map<string, MemoryObject>();
  readonly #held = new Set<{ close(): Promise<void> }>();

  constructor(options: MemoryBackendOptions) {
    this.#clock = options.clock;
    this.#bytesMax = options.bytesMax ?? Infinity;
  }

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async put(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<void> {
    checkKey(key);
    checkTag(options.tag);
    this.#admit(key, bytes.length - (this.#objects.get(key)?.length ?? 0));
    this.#store(key, bytes);
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async putIfAbsent(
    key: string,
    bytes: Uint8Array,
    options: PutOptions = {},
  ): Promise<"created" | "exists"> {
    checkKey(key);
    checkTag(options.tag);
    if (this.#objects.has(key)) return "exists";
    this.#admit(key, bytes.length);
    this.#store(key, bytes);
    return "created";
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async get(key: string, options: GetOptions = {}): Promise<Uint8Array> {
    checkKey(key);
    const { from, to } = checkRange(key, options);
    if (options.signal?.aborted) throw abortedError(key, options.signal);
    const object = this.#objects.get(key);
    if (object === undefined) throw noObjectError("read", key);
    const found = object.bytes.subarray(Math.min(from, object.length), Math.min(to, object.length));
    const bytes = options.into?.subarray(0, found.length) ?? new Uint8Array(found.length);
    bytes.set(found);
    return bytes;
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async head(key: string): Promise<ObjectInfo | undefined> {
    checkKey(key);
    const object = this.#objects.get(key);
    return object === undefined ? undefined : infoOf(key, object);
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    checkPrefix(prefix);
    for (const key of [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort()) {
      const object = this.#objects.get(key);
      if (object !== undefined) yield infoOf(key, object);
    }
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async delete(key: string): Promise<boolean> {
    return this.#objects.delete(checkKey(key));
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async createAppender(key: string): Promise<Appender> {
    checkKey(key);
    if (this.#objects.has(key)) {
      throw new TidemarkError(
        "object-exists",
        `Cannot create ${JSON.stringify(key)}: it exists already, and an appender wants a new key`,
        { details: { key } },
      );
    }
    const object = this.#store(key, new Uint8Array(0));
    const appender = new GuardedAppender(key, {
      write: (bytes) => this.#append(key, object, bytes),
      sync: () => Promise.resolve(),
      close: () => {
        this.#held.delete(appender);
        return Promise.resolve();
      },
      closeAfter: () => void this.#held.delete(appender),
    });
    this.#held.add(appender);
    return appender;
  }

  existsSync(key: string): boolean {
    return this.#objects.has(checkKey(key));
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async pin(key: string): Promise<PinnedKey> {
    const object = this.#objects.get(checkKey(key));
    if (object === undefined) throw noObjectError("hold", key);
    return {
      key,
      isCurrent: () => this.#objects.get(key) === object,
      close: () => Promise.resolve(),
    };
  }

  lock(): Promise<OwnerLock | undefined> {
    return Promise.resolve(undefined);
  }

  // deno-lint-ignore require-yield -- memory has no temporary names
  async *listTemporary(prefix: string): AsyncGenerator<TemporaryInfo> {
    checkPrefix(prefix);
  }

  // deno-lint-ignore require-await -- a refused key must reject, not throw
  async deleteTemporary(key: string): Promise<void> {
    checkTemporaryKey(key);
  }

  async close(): Promise<void> {
    for (const held of [...this.#held]) await held.close();
  }

  #store(key: string, bytes: Uint8Array): MemoryObject {
    const object = {
      bytes: bytes.slice(),
      length: bytes.length,
      modifiedMs: this.#clock.nowMs(),
    };
    this.#objects.set(key, object);
    return object;
  }

  // deno-lint-ignore require-await -- a full store must reject, not throw
  async #append(key: string, object: MemoryObject, bytes: Uint8Array): Promise<void> {
    this.#admit(key, bytes.length);
    const length = object.length + bytes.length;
    if (length > object.bytes.length) {
      const grown = new Uint8Array(Math.max(length, object.bytes.length * 2, APPEND_BYTES_INITIAL));
      grown.set(object.bytes.subarray(0, object.length));
      object.bytes = grown;
    }
    object.bytes.set(bytes, object.length);
    object.length = length;
    object.modifiedMs = this.#clock.nowMs();
  }

  #admit(key: string, wanted: number): void {
    if (this.#bytesMax === Infinity) return;
    let used = 0;
    for (const object of this.#objects.values()) used += object.length;
    const free = this.#bytesMax - used;
    if (wanted <= free) return;
    throw new TidemarkError(
      "storage-full",
      `Cannot write ${JSON.stringify(key)}: asked for ${wanted} bytes, the memory store has ` +
        `${free} bytes free; delete objects or raise bytesMax`,
      { details: { key, wantedBytes: wanted, freeBytes: free } },
    );
  }
}

function infoOf(key: string, object: MemoryObject): ObjectInfo {
  return { key, size: object.length, modifiedMs: object.modifiedMs };
}
