/**
 * A backend whose store may take only so much room.
 * Owns: telling the room what each call changes, and which calls are refused when there is none. Does not own: the
 * counts and limits (`StoreRoom`), storing.
 *
 * Changes and state objects are limited; small facts are not: with them a checkpoint or a collection makes room.
 * @module
 */
import { isInStates } from "../paths.ts";
import type {
  Appender,
  DeleteOptions,
  FailedDelete,
  GetOptions,
  LockOptions,
  ObjectInfo,
  OwnerLock,
  PinnedKey,
  PutOptions,
  StorageBackend,
  StorageSpace,
  TemporaryInfo,
} from "./backend.ts";
import { deleteAll } from "./delete_all.ts";
import type { StoreRoom } from "./store_room.ts";

/** Room that an object must find before it is begun, so that a full store is not littered with beginnings. */
const BEGIN_BYTES = 4096;

/** Counts what passes, and holds the limits. */
export class LimitedBackend implements StorageBackend {
  readonly #inner: StorageBackend;
  readonly #room: StoreRoom;

  constructor(inner: StorageBackend, room: StoreRoom) {
    this.#inner = inner;
    this.#room = room;
  }

  get name(): string {
    return this.#inner.name;
  }

  get location(): string {
    return this.#inner.location;
  }

  prepare(options: { create: boolean }): Promise<void> {
    return this.#inner.prepare(options);
  }

  async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    if (isInStates(key)) await this.#room.require(key, bytes.length);
    await this.#observe(key, async () => {
      await this.#inner.put(key, bytes, options);
      this.#room.set(key, bytes.length);
    });
  }

  async putIfAbsent(
    key: string,
    bytes: Uint8Array,
    options?: PutOptions,
  ): Promise<"created" | "exists"> {
    if (isInStates(key)) await this.#room.require(key, bytes.length);
    return await this.#observe(key, async () => {
      const result = await this.#inner.putIfAbsent(key, bytes, options);
      if (result === "created") this.#room.set(key, bytes.length);
      return result;
    });
  }

  get(key: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#inner.get(key, options);
  }

  head(key: string): Promise<ObjectInfo | undefined> {
    return this.#inner.head(key);
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return this.#inner.list(prefix);
  }

  async delete(key: string, options?: DeleteOptions): Promise<boolean> {
    return await this.#observe(key, async () => {
      const wasThere = await this.#inner.delete(key, options);
      this.#room.set(key, undefined);
      return wasThere;
    });
  }

  async deleteMany(
    keys: readonly string[],
    check: () => void,
  ): Promise<readonly FailedDelete[]> {
    try {
      const failed = await deleteAll(this.#inner, keys, check);
      const left = new Set(failed.map(({ key }) => key));
      for (const key of keys) if (!left.has(key)) this.#room.set(key, undefined);
      return failed;
    } catch (error) {
      // Some of them may be gone.
      this.#room.expire();
      throw error;
    }
  }

  async createAppender(key: string): Promise<Appender> {
    await this.#room.require(key, BEGIN_BYTES);
    const appender = await this.#inner.createAppender(key);
    this.#room.set(key, 0);
    return new LimitedAppender(appender, this.#room);
  }

  existsSync(key: string): boolean {
    return this.#inner.existsSync(key);
  }

  pin(key: string): Promise<PinnedKey> {
    return this.#inner.pin(key);
  }

  lock(key: string, options?: LockOptions): Promise<OwnerLock | undefined> {
    return this.#inner.lock(key, options);
  }

  listTemporary(
    prefix: string,
    options?: { isShallow?: boolean },
  ): AsyncIterable<TemporaryInfo> {
    return this.#inner.listTemporary(prefix, options);
  }

  deleteTemporary(key: string): Promise<void> {
    return this.#inner.deleteTemporary(key);
  }

  async space(): Promise<StorageSpace | undefined> {
    return await this.#inner.space?.();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** After a failure nobody knows what is there: it is looked up. */
  async #observe<Result>(key: string, action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      await this.#inner.head(key).then(
        (info) => this.#room.set(key, info?.size),
        () => {
          // The next count finds it; the first error is what matters.
        },
      );
      throw error;
    }
  }
}

class LimitedAppender implements Appender {
  readonly #inner: Appender;
  readonly #room: StoreRoom;

  constructor(inner: Appender, room: StoreRoom) {
    this.#inner = inner;
    this.#room = room;
  }

  get key(): string {
    return this.#inner.key;
  }

  get length(): number {
    return this.#inner.length;
  }

  async write(bytes: Uint8Array): Promise<void> {
    const end = this.length + bytes.length;
    await this.#room.require(this.key, bytes.length);
    // Before the write: whatever becomes of it, not more than that is there.
    this.#room.set(this.key, end);
    await this.#inner.write(bytes);
  }

  beginSync(): void {
    this.#inner.beginSync?.();
  }

  syncData(): Promise<void> {
    return this.#inner.syncData?.() ?? this.#inner.sync();
  }

  sync(): Promise<void> {
    return this.#inner.sync();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
