/**
 * What the engine asks of a place to store objects. Small primitives; what follows from them is in `derived.ts`. A
 * backend does not know what the bytes mean, and never retries.
 *
 * Keys are relative, `/`-separated, of `A-Z a-z 0-9 . _ -` in each part; a part is never `.` or `..`.
 * Every failure is a `TidemarkError` whose outcome says whether the call took effect.
 * @module
 */
import type { TidemarkError } from "../errors.ts";

/**
 * What is known of an object without reading it.
 *
 * @example
 * ```ts
 * import type { ObjectInfo } from "@tidemark/tidemark";
 *
 * function bytesOf(objects: readonly ObjectInfo[]): number {
 *   return objects.reduce((sum, { size }) => sum + size, 0);
 * }
 * console.assert(bytesOf([{ key: "jobs/orders/LOCK", size: 120, modifiedMs: 0 }]) === 120);
 * ```
 */
export interface ObjectInfo {
  /** The object's key. */
  readonly key: string;
  /** Size in bytes. */
  readonly size: number;
  /** Last change by the store's clock, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/**
 * Options of {@link StorageBackend.get}.
 *
 * @example
 * ```ts
 * import type { GetOptions, StorageBackend } from "@tidemark/tidemark";
 *
 * function readHead(backend: StorageBackend, key: string): Promise<Uint8Array> {
 *   const options: GetOptions = { from: 0, to: 64 };
 *   return backend.get(key, options);
 * }
 * console.assert(readHead.length === 2);
 * ```
 */
export interface GetOptions {
  /** First byte. @default 0 */
  from?: number;
  /** First byte not read any more. @default the end of the object */
  to?: number;
  /** Stops the read. @default never */
  signal?: AbortSignal;
  /**
   * Memory that may be read into, from its beginning: at least as long as the range. It is the read's own until that
   * has succeeded, and may be written to at any time after one that has not. @default new memory
   */
  into?: Uint8Array;
}

/**
 * Options of {@link StorageBackend.put} and {@link StorageBackend.putIfAbsent}.
 *
 * @example
 * ```ts
 * import type { PutOptions, StorageBackend } from "@tidemark/tidemark";
 *
 * function putOf(epoch: number, backend: StorageBackend, bytes: Uint8Array): Promise<void> {
 *   const options: PutOptions = { tag: String(epoch).padStart(20, "0") };
 *   return backend.put("jobs/orders/private/notes", bytes, options);
 * }
 * console.assert(putOf.length === 3);
 * ```
 */
export interface PutOptions {
  /** Stands in the temporary name, so that a sweep knows whose it was: an epoch of 20 digits, or `reader`. @default "none" */
  tag?: string;
}

/**
 * A temporary name that a write left behind, or is still using.
 *
 * @example
 * ```ts
 * import type { TemporaryInfo } from "@tidemark/tidemark";
 *
 * const isOlder = ({ tag }: TemporaryInfo, epoch: number): boolean => Number(tag) < epoch;
 * console.assert(isOlder({ key: "a", tag: "00000000000000000003", size: 0, modifiedMs: 0 }, 4));
 * ```
 */
export interface TemporaryInfo {
  /** Opaque to all but {@link StorageBackend.deleteTemporary}. */
  readonly key: string;
  /** The tag that its writer gave. */
  readonly tag: string;
  /** Size in bytes. */
  readonly size: number;
  /** Last change by the store's clock, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/**
 * An object that grows at its end, one call at a time. After a failed call it takes no other: what it holds beyond
 * the last sync that returned is unknown for ever, and the file is neither written nor synced again.
 *
 * @example
 * ```ts
 * import type { Appender, StorageBackend } from "@tidemark/tidemark";
 *
 * async function store(backend: StorageBackend, key: string, batch: Uint8Array): Promise<number> {
 *   const appender: Appender = await backend.createAppender(key);
 *   try {
 *     await appender.write(batch);
 *     await appender.sync(); // durable from here on
 *     return appender.length;
 *   } finally {
 *     await appender.close();
 *   }
 * }
 * console.assert(store.length === 3);
 * ```
 */
export interface Appender {
  /** The object's key. */
  readonly key: string;
  /** Bytes written so far, synced or not. */
  readonly length: number;
  /**
   * Writes all of `bytes` at the end. Not durable before {@link Appender.sync}.
   *
   * @param bytes May be reused when the promise has resolved.
   * @throws {TidemarkError} `storage-full`, `storage-unavailable`, `storage-denied`, `closed`
   */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Begins to bring what was written to disk, so that the next {@link Appender.sync} has less to wait for. Returns at
   * once, and other calls go on meanwhile; if it fails, so does the next of them.
   *
   * @default nothing is done
   */
  beginSync?(): void;
  /**
   * Makes all that was written durable, but perhaps not the object's name. For that, an object of the same folder is
   * synced afterwards that was created before this one: so several new objects cost one sync of their folder.
   *
   * @default {@link Appender.sync} is called instead
   * @throws {TidemarkError} `storage-full`, `storage-unavailable`, `storage-denied`, `closed`
   */
  syncData?(): Promise<void>;
  /**
   * Makes all that was written durable; the first time also the object's name, in every directory that changed.
   *
   * @throws {TidemarkError} `storage-full`, `storage-unavailable`, `storage-denied`, `closed`
   */
  sync(): Promise<void>;
  /**
   * Lets the object go, without writing or syncing anything. Idempotent. Does not wait for a call that still runs, since
   * that may hang for ever: the call then writes nothing further, and the object is let go when it returns.
   */
  close(): Promise<void>;
}

/**
 * An object that is held open, so that its identity can't be reused by another.
 *
 * @example
 * ```ts
 * import type { PinnedKey, StorageBackend } from "@tidemark/tidemark";
 *
 * async function isStillThere(backend: StorageBackend, key: string): Promise<boolean> {
 *   const pinned: PinnedKey = await backend.pin(key);
 *   try {
 *     return pinned.isCurrent();
 *   } finally {
 *     await pinned.close();
 *   }
 * }
 * console.assert(isStillThere.length === 2);
 * ```
 */
export interface PinnedKey {
  /** The object's key. */
  readonly key: string;
  /**
   * Whether the key still names this very object. Synchronous.
   *
   * @throws {TidemarkError} `storage-unavailable`, `storage-denied`
   */
  isCurrent(): boolean;
  /** Lets go. Idempotent. */
  close(): Promise<void>;
}

/**
 * Options of {@link StorageBackend.delete}.
 *
 * @example
 * ```ts
 * import type { DeleteOptions } from "@tidemark/tidemark";
 *
 * const options: DeleteOptions = { mayComeBack: true };
 * console.assert(options.mayComeBack);
 * ```
 */
export interface DeleteOptions {
  /** Whether the object may be there again after a power cut, which saves the wait for the disk. @default false */
  mayComeBack?: boolean;
}

/**
 * An object that {@link StorageBackend.deleteMany} could not delete.
 *
 * @example
 * ```ts
 * import { type FailedDelete, TidemarkError } from "@tidemark/tidemark";
 *
 * const error = new TidemarkError("storage-denied", "Cannot delete jobs/orders/a");
 * const failed: FailedDelete = { key: "jobs/orders/a", error };
 * console.assert(failed.error.code === "storage-denied");
 * ```
 */
export interface FailedDelete {
  /** Its key. */
  readonly key: string;
  /** Why; with outcome `unknown` it may be gone. */
  readonly error: TidemarkError;
}

/**
 * Options of {@link StorageBackend.lock}.
 *
 * @example
 * ```ts
 * import type { LockOptions } from "@tidemark/tidemark";
 *
 * const options: LockOptions = { takeOver: true };
 * console.assert(options.takeOver);
 * ```
 */
export interface LockOptions {
  /** Whether to take the lock from a live owner. @default false */
  takeOver?: boolean;
}

/**
 * A lock that keeps two processes of one machine from taking a job from each other by mistake. Safety does not rest
 * on it: epochs fence.
 *
 * @example
 * ```ts
 * import type { OwnerLock, StorageBackend } from "@tidemark/tidemark";
 *
 * async function warningsOf(backend: StorageBackend): Promise<readonly string[]> {
 *   const lock: OwnerLock | undefined = await backend.lock("jobs/orders/LOCK");
 *   await lock?.close();
 *   return lock?.warnings ?? [];
 * }
 * console.assert(warningsOf.length === 1);
 * ```
 */
export interface OwnerLock {
  /** What was noticed while taking it, such as a lock of another machine. */
  readonly warnings: readonly string[];
  /** Lets go. Idempotent. */
  close(): Promise<void>;
}

/**
 * Room of a place.
 *
 * @example
 * ```ts
 * import type { StorageSpace } from "@tidemark/tidemark";
 *
 * const isShort = ({ freeBytes, totalBytes }: StorageSpace) => freeBytes < totalBytes / 10;
 * console.assert(isShort({ freeBytes: 5, totalBytes: 100 }));
 * ```
 */
export interface StorageSpace {
  /** Bytes that can still be written. */
  readonly freeBytes: number;
  /** Bytes of the whole place. */
  readonly totalBytes: number;
}

/**
 * A place to store objects. Give one of your own to `openStore`. Every call may throw `storage-unavailable`,
 * `storage-denied` and, for a key that is none, `invalid-name`; every call that writes `storage-full`. An outcome of
 * `not-applied` means that nothing has changed and nothing will; when that is not certain it is `unknown`.
 * Seed: `StorageBackend`.
 *
 * @example
 * ```ts
 * import { openStore, type StorageBackend } from "@tidemark/tidemark";
 *
 * async function jobsOn(backend: StorageBackend): Promise<string[]> {
 *   await using store = await openStore(backend, { mode: "read" });
 *   return await store.jobs();
 * }
 * console.assert(jobsOn.length === 1);
 * ```
 */
export interface StorageBackend {
  /** `posix` or `memory`, or the name of your own. */
  readonly name: string;
  /** Where it is, for people: an absolute path, or `memory`. */
  readonly location: string;

  /**
   * Checks that the place keeps what the engine builds on, before a store is opened for writing.
   *
   * @param options `create`: whether to make the place itself where it is missing.
   * @throws {TidemarkError} `store-not-found`, `unsupported-file-system`
   */
  prepare(options: { create: boolean }): Promise<void>;

  /**
   * Stores the object whole, durably, replacing any of that key.
   *
   * @param key Where.
   * @param bytes All of it; not changed, and not kept after the call.
   * @param options Tag of the temporary name. @default {}
   */
  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void>;
  /**
   * Stores the object whole, durably, unless the key exists. An error before the creating call has the outcome
   * `not-applied`, one after it `unknown`: the object may be there, durably or not.
   *
   * @param key Where.
   * @param bytes All of it; not changed, and not kept after the call.
   * @param options Tag of the temporary name. @default {}
   * @returns Whether this call created it. `exists` says nothing of whether what is there is durable.
   */
  putIfAbsent(key: string, bytes: Uint8Array, options?: PutOptions): Promise<"created" | "exists">;
  /**
   * Reads the object or a part of it. A range beyond the end gives what is there.
   *
   * @param key Which.
   * @param options Range and signal. @default {}
   * @returns The bytes; the caller's own. They need not be in the memory that was offered.
   * @throws {TidemarkError} `object-not-found`, `aborted`
   * @throws {RangeError} A range that is none, or memory that is shorter.
   */
  get(key: string, options?: GetOptions): Promise<Uint8Array>;
  /**
   * What is known of the object.
   *
   * @param key Which.
   * @returns Its size and time; undefined when there is none.
   */
  head(key: string): Promise<ObjectInfo | undefined>;
  /**
   * Lists the objects below a prefix, recursively. Never temporary names.
   *
   * @param prefix Ends in `/`, or is empty.
   * @returns The objects, in key order.
   */
  list(prefix: string): AsyncIterable<ObjectInfo>;
  /**
   * Deletes the object, durably.
   *
   * @param key Which.
   * @param options Whether it need not be durable. @default {}
   * @returns Whether it was there.
   */
  delete(key: string, options?: DeleteOptions): Promise<boolean>;
  /**
   * Deletes objects, durably, with less effort than one by one. A backend that can't do that leaves it out.
   *
   * @param keys Which; those that are gone are fine.
   * @param check Asked before each of them; what it throws ends the call, and the rest stays.
   * @returns Those that could not be deleted, with the reason.
   */
  deleteMany?(keys: readonly string[], check: () => void): Promise<readonly FailedDelete[]>;

  /**
   * Begins an object that grows.
   *
   * @param key Where; must be new.
   * @returns What appends to it.
   * @throws {TidemarkError} `object-exists`
   */
  createAppender(key: string): Promise<Appender>;
  /**
   * Whether the key exists. Synchronous: the check before an acknowledgement.
   *
   * @param key Which.
   * @returns Whether there is an object of this key.
   */
  existsSync(key: string): boolean;
  /**
   * Holds the object of this key.
   *
   * @param key Which.
   * @returns What tells whether the key still names it.
   * @throws {TidemarkError} `object-not-found`
   */
  pin(key: string): Promise<PinnedKey>;

  /**
   * Takes a lock.
   *
   * @param key Its key.
   * @param options Whether to take it from a live owner. @default {}
   * @returns The lock; undefined where the backend has none.
   * @throws {TidemarkError} `job-busy` when a live process of this machine holds it.
   */
  lock(key: string, options?: LockOptions): Promise<OwnerLock | undefined>;

  /**
   * Lists temporary names below a prefix.
   *
   * @param prefix Ends in `/`, or is empty.
   * @param options `isShallow`: only those directly at the prefix, none in folders below it. @default {}
   * @returns The names, in no particular order.
   */
  listTemporary(prefix: string, options?: { isShallow?: boolean }): AsyncIterable<TemporaryInfo>;
  /**
   * Removes a temporary name; one that is gone is fine.
   *
   * @param key As it was listed.
   */
  deleteTemporary(key: string): Promise<void>;

  /**
   * How much room there is, as far as the place can tell. A backend that can't leaves it out.
   *
   * @returns The room, whoever has it; undefined where it is not known.
   */
  space?(): Promise<StorageSpace | undefined>;

  /** Lets go of everything held. Idempotent. Does not wait for an appender's call that still runs. */
  close(): Promise<void>;
}
