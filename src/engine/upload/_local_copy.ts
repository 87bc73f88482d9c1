/**
 * The local copy of one change file: takes the same bytes in the same order, through a queue of its own.
 * Owns: the queue, and that a copy which fails leaves nothing behind. Does not own: how much may wait.
 * @module
 */
import type { Logger } from "../port/logger.ts";
import type { Appender, StorageBackend } from "../storage/backend.ts";
import type { FollowedFile } from "./change_file_follower.ts";

/** What a copy reports to. */
export interface LocalCopyOwner {
  readonly backend: StorageBackend;
  readonly logger: Logger;
  /** Asks for room in the queue. */
  admit(bytes: number): boolean;
  release(bytes: number): void;
  /** The copy is given up. Called once, before it has let go of anything. */
  onDropped(copy: LocalCopy, reason: string, error: unknown): void;
  /** Nothing of the copy runs any more. Called once. */
  onSettled(copy: LocalCopy): void;
}

/** A copy on its way. */
export class LocalCopy implements FollowedFile {
  readonly key: string;
  /** Resolves when nothing of it runs any more; never rejects. */
  readonly settled: Promise<void>;
  readonly #owner: LocalCopyOwner;
  #pieces: Uint8Array[] = [];
  #isEnded = false;
  #isDropped = false;
  #isClosed = false;
  /** Wakes the writing when something has come. */
  #wake: (() => void) | undefined;
  #waiters: (() => void)[] = [];

  constructor(key: string, owner: LocalCopyOwner) {
    this.key = key;
    this.#owner = owner;
    this.settled = this.#run();
  }

  /** Whether it was given up. */
  get isDropped(): boolean {
    return this.#isDropped;
  }

  /** Whether the copy has every byte so far, and was closed when the file has ended. */
  get isCaughtUp(): boolean {
    if (this.#isDropped) return false;
    return this.#isEnded ? this.#isClosed : this.#pieces.length === 0;
  }

  write(bytes: Uint8Array): void {
    if (this.#isDropped) return;
    if (!this.#owner.admit(bytes.length)) {
      this.drop("it is too slow", undefined);
      return;
    }
    this.#pieces.push(bytes.slice());
    this.#tell();
  }

  end(): void {
    this.#isEnded = true;
    this.#tell();
  }

  /** Gives the copy up: nothing more is written to it, and what is there goes. */
  drop(reason: string, error: unknown): void {
    if (this.#isDropped || this.#isClosed) return;
    this.#isDropped = true;
    for (const piece of this.#pieces) this.#owner.release(piece.length);
    this.#pieces = [];
    this.#owner.onDropped(this, reason, error);
    this.#tell();
    this.#tellWaiters();
  }

  /** Resolves when the copy is caught up or given up. */
  whenCaughtUp(): Promise<void> {
    if (this.isCaughtUp || this.#isDropped) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  async #run(): Promise<void> {
    let appender: Appender | undefined;
    try {
      // Whoever begins a copy is not held up by it.
      await Promise.resolve();
      appender = await this.#owner.backend.createAppender(this.key);
      await this.#writeAll(appender);
      await appender.close();
      this.#isClosed = !this.#isDropped;
    } catch (error) {
      this.drop("it failed", error);
    }
    if (this.#isDropped) await this.#remove(appender);
    this.#tellWaiters();
    this.#owner.onSettled(this);
  }

  async #writeAll(appender: Appender): Promise<void> {
    while (!this.#isDropped) {
      const piece = this.#pieces[0];
      if (piece !== undefined) {
        await appender.write(piece);
        if (this.#isDropped) return;
        this.#pieces.shift();
        this.#owner.release(piece.length);
        if (this.isCaughtUp) this.#tellWaiters();
      } else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async #remove(appender: Appender | undefined): Promise<void> {
    const { backend, logger } = this.#owner;
    try {
      await appender?.close();
      await backend.delete(this.key);
    } catch (error) {
      // The next owner sweeps it.
      logger.log("debug", "Cannot remove a local copy", { key: this.key, error });
    }
  }

  #tell(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #tellWaiters(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}
