/**
 * Keeps objects as files below one folder.
 * Owns: wiring of the parts in `_posix_*.ts`, and what is held open. Does not own: what the bytes mean, retries.
 * @module
 */
import type { FileSystem } from "../port/file_system.ts";
import type { Clock } from "../port/clock.ts";
import type { Logger } from "../port/logger.ts";
import type { ProcessInfo } from "../port/process_info.ts";
import type { Random } from "../port/random.ts";
import { checkKey, checkPrefix, checkTemporaryKey, parseTemporaryTag } from "./_keys.ts";
import { createPosixAppender } from "./_posix_appender.ts";
import type { PosixPorts } from "./_posix_context.ts";
import { PosixDeletes } from "./_posix_deletes.ts";
import { explainPosixError } from "./_posix_error.ts";
import { PosixFolders } from "./_posix_folders.ts";
import { PosixWalk } from "./_posix_list.ts";
import { takePosixLock } from "./_posix_lock.ts";
import { preparePosixRoot } from "./_posix_prepare.ts";
import { PosixReads } from "./_posix_reads.ts";
import { PosixWrites } from "./_posix_writes.ts";
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

/** Options of {@link PosixBackend}. */
export interface PosixBackendOptions {
  /** The store's folder: an absolute path. It may be reached through symbolic links. */
  root: string;
  /** How to speak to the operating system. */
  fileSystem: FileSystem;
  /** Gives temporary names and locks their times. */
  clock: Clock;
  /** Makes temporary names unique. */
  random: Random;
  /** Who we are, for locks and messages. */
  process: ProcessInfo;
  /** Told what no caller waits for. */
  logger: Logger;
}

interface Closable {
  close(): Promise<void>;
}

/**
 * A {@link StorageBackend} on a local disk. After `close` it can be used again; what was held
 * (appenders, pins, locks) is let go.
 */
export class PosixBackend implements StorageBackend {
  readonly name = "posix";
  readonly #ports: PosixPorts;
  readonly #folders: PosixFolders;
  readonly #reads: PosixReads;
  readonly #writes: PosixWrites;
  readonly #deletes: PosixDeletes;
  readonly #walk: PosixWalk;
  readonly #held = new Set<Closable>();
  #prepared: Promise<void> | undefined;

  constructor(options: PosixBackendOptions) {
    this.#ports = options;
    this.#folders = new PosixFolders(this.#ports, options.root);
    this.#reads = new PosixReads(this.#ports, this.#folders);
    this.#writes = new PosixWrites(this.#ports, this.#folders);
    this.#deletes = new PosixDeletes(this.#ports, this.#folders);
    this.#walk = new PosixWalk(this.#ports, this.#folders);
  }

  get location(): string {
    return this.#folders.root;
  }

  async prepare(options: { create: boolean }): Promise<void> {
    this.#prepared ??= preparePosixRoot(this.#ports, this.#folders, options);
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }

  async put(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<void> {
    await this.#writes.put(checkKey(key), bytes, options.tag);
  }

  async putIfAbsent(
    key: string,
    bytes: Uint8Array,
    options: PutOptions = {},
  ): Promise<"created" | "exists"> {
    return await this.#writes.putIfAbsent(checkKey(key), bytes, options.tag);
  }

  async get(key: string, options: GetOptions = {}): Promise<Uint8Array> {
    return await this.#reads.get(checkKey(key), options);
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    return await this.#reads.head(checkKey(key));
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    for await (const { key, stat } of this.#walk.files(checkPrefix(prefix), "objects")) {
      yield { key, size: stat.size, modifiedMs: stat.modifiedMs };
    }
  }

  async delete(key: string, options: DeleteOptions = {}): Promise<boolean> {
    return await this.#deletes.delete(checkKey(key), options);
  }

  async deleteMany(
    keys: readonly string[],
    check: () => void,
  ): Promise<readonly FailedDelete[]> {
    return await this.#deletes.deleteMany(keys.map(checkKey), check);
  }

  async createAppender(key: string): Promise<Appender> {
    return this.#hold(
      await createPosixAppender(this.#ports, this.#folders, checkKey(key), this.#letGo),
    );
  }

  existsSync(key: string): boolean {
    return this.#reads.existsSync(checkKey(key));
  }

  async pin(key: string): Promise<PinnedKey> {
    return this.#hold(await this.#reads.pin(checkKey(key), this.#letGo));
  }

  async lock(key: string, options: LockOptions = {}): Promise<OwnerLock> {
    return this.#hold(
      await takePosixLock(this.#ports, this.#folders, checkKey(key), options, this.#letGo),
    );
  }

  async *listTemporary(
    prefix: string,
    { isShallow = false }: { isShallow?: boolean } = {},
  ): AsyncGenerator<TemporaryInfo> {
    const kind = isShallow ? "temporaries here" : "temporaries";
    for await (const { key, name, stat } of this.#walk.files(checkPrefix(prefix), kind)) {
      const tag = parseTemporaryTag(name);
      if (tag !== undefined) yield { key, tag, size: stat.size, modifiedMs: stat.modifiedMs };
    }
  }

  async deleteTemporary(key: string): Promise<void> {
    await this.#deletes.deleteTemporary(checkTemporaryKey(key));
  }

  async space(): Promise<StorageSpace> {
    const { fileSystem } = this.#ports;
    const { root } = this.#folders;
    try {
      const { freeBytes, totalBytes } = await fileSystem.statFileSystem(root);
      return { freeBytes, totalBytes };
    } catch (error) {
      const failed = { action: "ask for the room of", path: root };
      throw await explainPosixError(this.#ports, root, error, failed);
    }
  }

  async close(): Promise<void> {
    const results = await Promise.allSettled([...this.#held].map((held) => held.close()));
    this.#held.clear();
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  readonly #letGo = (held: Closable): void => void this.#held.delete(held);

  #hold<T extends Closable>(held: T): T {
    this.#held.add(held);
    return held;
  }
}
