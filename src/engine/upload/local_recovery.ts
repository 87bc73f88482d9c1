/**
 * A job's local copies: a second copy of its change files near by, from which a restore reads first.
 * Owns: which copies there are and which of them stay. Does not own: the folder's marker, reading them.
 * @module
 */
import type { JobKeys } from "../paths.ts";
import type { Logger } from "../port/logger.ts";
import type { Ports } from "../port/ports.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { deleteAll } from "../storage/delete_all.ts";
import { BoundedDeleter } from "./bounded_deleter.ts";
import type { ChangeFileFollower, FollowedFile } from "./change_file_follower.ts";
import { LocalChangelogRegistry } from "./local_changelog_registry.ts";
import { LocalMirror, type LocalMirrorOptions } from "./local_mirror.ts";
import type { UploadMetrics } from "./upload_metrics.ts";

/** What {@link LocalRecovery} is made of. */
export interface LocalRecoveryComponents extends Omit<Ports, "metrics"> {
  readonly backend: StorageBackend;
  readonly metrics: UploadMetrics;
}

/** Options of {@link LocalRecovery}. */
export interface LocalRecoveryOptions {
  /** Copies that are deleted at once. Setting `discardConcurrencyMax`. */
  readonly discardConcurrencyMax: number;
  /** @default {} */
  readonly mirror?: LocalMirrorOptions;
  /** Whether the place is left alone: nothing is begun or deleted there then, without a word. @default never */
  readonly isLeft?: () => boolean;
}

const NO_COPY: FollowedFile = { end() {} };

/** The local copies of one job, over all its epochs in this process. */
export class LocalRecovery implements ChangeFileFollower {
  readonly mirror: LocalMirror;
  readonly #registry: LocalChangelogRegistry;
  readonly #deleter: BoundedDeleter;
  readonly #components: LocalRecoveryComponents;
  readonly #isLeft: () => boolean;
  /** Counts checkpoints: the one in progress, or the next. */
  #checkpoint = 1;

  constructor(components: LocalRecoveryComponents, options: LocalRecoveryOptions) {
    this.#components = components;
    this.#isLeft = options.isLeft ?? (() => false);
    this.#deleter = new BoundedDeleter(components, {
      concurrencyMax: options.discardConcurrencyMax,
    });
    this.mirror = new LocalMirror(components, options.mirror);
    this.#registry = new LocalChangelogRegistry({ discard: (keys) => this.#delete(keys) });
  }

  /** A file begins: its copy begins too, for the next checkpoint. */
  begin(key: string): FollowedFile {
    if (this.#isLeft()) return NO_COPY;
    this.#registry.register(key, this.#checkpoint);
    return this.mirror.begin(key);
  }

  /** Removes copies that earlier owners left and that can't be used; what `needed` says of the rest stays. */
  async sweep(
    keys: JobKeys,
    needed: Iterable<{ readonly key: string; readonly length: number }>,
  ): Promise<void> {
    const { backend, logger, metrics } = this.#components;
    const lengths = new Map([...needed].map(({ key, length }) => [key, length]));
    try {
      for await (const { key, size } of backend.list(keys.changelogPrefix)) {
        if (keys.parseChangeFile(key) === undefined || this.mirror.has(key)) continue;
        if (size >= (lengths.get(key) ?? Infinity)) this.#registry.register(key, this.#checkpoint);
        else this.#deleter.discard([key]);
      }
    } catch (error) {
      metrics.localFailures.add();
      logger.log("warning", "Cannot sweep local copies", { job: keys.job, error });
    }
  }

  /** A checkpoint is about to name these files: their copies stay until a later one is published. */
  checkpointing(keys: Iterable<string>): void {
    for (const key of keys) {
      if (this.#registry.has(key)) this.#registry.register(key, this.#checkpoint);
    }
  }

  /** The checkpoint was published: copies that neither it nor the tail needs go. */
  published(): void {
    this.#registry.discardUpToCheckpoint(this.#checkpoint);
    this.#checkpoint += 1;
  }

  /** Nobody needs these files any more. */
  discard(keys: readonly string[]): void {
    for (const key of keys) this.#registry.discard(key);
  }

  /** The job goes on with these files alone. */
  retain(keys: Iterable<string>): void {
    this.#registry.retain(new Set(keys));
  }

  /** Resolves when every file that has ended has its copy or none, and every delete is done. */
  async whenIdle(): Promise<void> {
    await this.mirror.whenSettled();
    await this.#deleter.whenIdle();
  }

  /** Deletes nothing: the next open finds the copies. Idempotent. */
  async close(): Promise<void> {
    await this.mirror.close();
    this.#registry.close();
    await this.#deleter.close();
  }

  #delete(keys: readonly string[]): void {
    for (const key of keys) this.mirror.forget(key);
    if (!this.#isLeft()) this.#deleter.discard(keys);
  }
}

/**
 * Removes the copies of a job that is not there any more. Each is tried once, since somebody waits: what stays goes when
 * a job of that name is opened.
 */
export async function removeCopies(
  backend: StorageBackend,
  keys: JobKeys,
  logger: Logger,
): Promise<void> {
  const { job } = keys;
  try {
    const copies: string[] = [];
    for await (const { key } of backend.list(keys.changelogPrefix)) {
      if (keys.parseChangeFile(key) !== undefined) copies.push(key);
    }
    const [failed] = await deleteAll(backend, copies, () => {});
    if (failed !== undefined) throw failed.error;
  } catch (error) {
    logger.log("warning", "Cannot remove all local copies", { job, error });
  }
}
