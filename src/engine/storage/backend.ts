/**
 * What the engine asks of a place to store objects. Small primitives; everything else is derived from them
 * (`derived.ts`). A backend does not know what the bytes mean, and never retries.
 *
 * Keys are relative, `/`-separated, of `A-Z a-z 0-9 . _ -` in each part; a part is never `.` or `..`.
 * Every failure is a `TidemarkError` whose outcome says whether the call took effect.
 * @module
 */

/** What is known of an object without reading it. */
export interface ObjectInfo {
  readonly key: string;
  /** Size in bytes. */
  readonly size: number;
  /** Last change by the store's clock, in milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** Options of a read. */
export interface GetOptions {
  /** First byte. @default 0 */
  from?: number;
  /** First byte not read any more. @default the end of the object */
  to?: number;
  /** Stops the read. @default never */
  signal?: AbortSignal;
}

/** Options of a write. */
export interface PutOptions {
  /** Stands in the temporary name, so that a sweep knows whose it was: an epoch of 20 digits, or `reader`. @default "none" */
  tag?: string;
}

/** A temporary name that a write left behind, or is still using. */
export interface TemporaryInfo {
  /** Opaque to all but {@link StorageBackend.deleteTemporary}. */
  readonly key: string;
  readonly tag: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/**
 * An object that grows at its end. After a failed call it takes no other: what it holds beyond the last
 * sync that returned is unknown for ever, and the file is neither written nor synced again.
 */
export interface Appender {
  readonly key: string;
  /** Bytes written so far, synced or not. */
  readonly length: number;
  /** Writes all of `bytes` at the end. The bytes may be reused when it returns. Not durable before {@link sync}. */
  write(bytes: Uint8Array): Promise<void>;
  /** Makes all that was written durable; the first time also the object's name, in every directory that changed. */
  sync(): Promise<void>;
  /** Lets the object go, without writing or syncing anything. Idempotent. */
  close(): Promise<void>;
}

/** An object that is held open, so that its identity can't be reused by another. */
export interface PinnedKey {
  readonly key: string;
  /** Whether the key still names this very object. Synchronous. */
  isCurrent(): boolean;
  /** Lets go. Idempotent. */
  close(): Promise<void>;
}

/** Options of {@link StorageBackend.lock}. */
export interface LockOptions {
  /** Whether to take the lock from a live owner. @default false */
  takeOver?: boolean;
}

/** A lock that keeps two processes of one machine from taking a job from each other by mistake. */
export interface OwnerLock {
  /** What was noticed while taking it, such as a lock of another machine. */
  readonly warnings: readonly string[];
  /** Lets go. Idempotent. */
  close(): Promise<void>;
}

/** A place to store objects. */
export interface StorageBackend {
  /** `posix` or `memory`. */
  readonly name: string;
  /** Where it is, for people: an absolute path, or `memory`. */
  readonly location: string;

  /** Checks that the place keeps what the engine builds on, before a store is opened for writing. Creates the place itself when `create` is set. */
  prepare(options: { create: boolean }): Promise<void>;

  /** Stores the object whole, durably, replacing any of that key. */
  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void>;
  /**
   * Stores the object whole, durably, unless the key exists. An error before the creating call has the outcome
   * `not-applied`, one after it `unknown`: the object may be there, durably or not.
   */
  putIfAbsent(key: string, bytes: Uint8Array, options?: PutOptions): Promise<"created" | "exists">;
  /** Reads the object or a part of it. A range beyond the end gives what is there. @throws `object-not-found` */
  get(key: string, options?: GetOptions): Promise<Uint8Array>;
  /** What is known of the object; undefined when there is none. */
  head(key: string): Promise<ObjectInfo | undefined>;
  /** The objects below a prefix that ends in `/` (or is empty), recursively, in key order. Never temporary names. */
  list(prefix: string): AsyncIterable<ObjectInfo>;
  /** Deletes the object, durably; answers whether it was there. */
  delete(key: string): Promise<boolean>;

  /** Begins an object that grows; the key must be new. @throws `object-exists` */
  createAppender(key: string): Promise<Appender>;
  /** Whether the key exists. Synchronous: the check before an acknowledgement. */
  existsSync(key: string): boolean;
  /** Holds the object of this key. @throws `object-not-found` */
  pin(key: string): Promise<PinnedKey>;

  /** Takes the lock `key`; undefined where the backend has none. @throws `job-busy` */
  lock(key: string, options?: LockOptions): Promise<OwnerLock | undefined>;

  /** Temporary names below a prefix. */
  listTemporary(prefix: string): AsyncIterable<TemporaryInfo>;
  /** Removes a temporary name; one that is gone is fine. */
  deleteTemporary(key: string): Promise<void>;

  /** Lets go of everything held. Idempotent. */
  close(): Promise<void>;
}
