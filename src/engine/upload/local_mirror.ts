/**
 * Copies change files to a place near by, byte for byte, while they are written.
 * Owns: which files have a copy, and how much of them waits in memory.
 * Does not own: the main files, which checkpoint needs a copy (`LocalChangelogRegistry`), reading.
 * @module
 */
import { MIB } from "../limits.ts";
import type { Clock } from "../port/clock.ts";
import type { Logger } from "../port/logger.ts";
import type { StorageBackend } from "../storage/backend.ts";
import { LocalCopy, type LocalCopyOwner } from "./_local_copy.ts";
import type { ChangeFileFollower, FollowedFile } from "./change_file_follower.ts";
import type { UploadMetrics } from "./upload_metrics.ts";

/** What a {@link LocalMirror} is made of. */
export interface LocalMirrorComponents {
  /** Where the copies go, each under its file's key. Nothing is synced there. */
  readonly backend: StorageBackend;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: UploadMetrics;
}

/** Options of a {@link LocalMirror}. */
export interface LocalMirrorOptions {
  /** Bytes that may wait, over all copies; what would be above drops the copy. @default 16777216 */
  readonly queueBytesMax?: number;
  /** Milliseconds that an upload waits for a copy that falls behind, once until it has caught up; 0: not at all. @default 5 */
  readonly waitMsMax?: number;
  /** Milliseconds that a close waits for copies. @default 1000 */
  readonly closeWaitMsMax?: number;
}

const NO_COPY: FollowedFile = { end() {} };

/**
 * The local copies of a job's change files. A copy that fails, or that is too slow, is dropped and counted; the main
 * file never hears of it.
 */
export class LocalMirror implements ChangeFileFollower, LocalCopyOwner {
  readonly backend: StorageBackend;
  readonly logger: Logger;
  readonly #clock: Clock;
  readonly #metrics: UploadMetrics;
  readonly #options: Required<LocalMirrorOptions>;
  readonly #hideGauge: () => void;
  /** Copies that are whole so far. */
  readonly #copies = new Map<string, LocalCopy>();
  /** Copies of which something runs. */
  readonly #unsettled = new Set<LocalCopy>();
  /** Copies that an upload has waited for in vain. */
  readonly #behind = new WeakSet<LocalCopy>();
  #queuedBytes = 0;
  #isClosed = false;

  constructor(components: LocalMirrorComponents, options: LocalMirrorOptions = {}) {
    const { backend, clock, logger, metrics } = components;
    this.backend = backend;
    this.logger = logger;
    this.#clock = clock;
    this.#metrics = metrics;
    const { queueBytesMax = 16 * MIB, waitMsMax = 5, closeWaitMsMax = 1000 } = options;
    this.#options = { queueBytesMax, waitMsMax, closeWaitMsMax };
    this.#hideGauge = metrics.observe({ localQueueBytes: () => this.#queuedBytes });
  }

  /** Begins the copy of a file; none while another hangs, or they would pile up. */
  begin(key: string): FollowedFile {
    if (this.#isClosed) return NO_COPY;
    for (const other of this.#unsettled) {
      if (!other.isDropped && !this.#behind.has(other)) continue;
      this.#failed(key, `the copy of ${other.key} hangs`, undefined);
      return NO_COPY;
    }
    const copy = new LocalCopy(key, this);
    this.#copies.set(key, copy);
    this.#unsettled.add(copy);
    return copy;
  }

  /** Whether there is a copy of the file that has not failed. */
  has(key: string): boolean {
    return this.#copies.has(key);
  }

  /**
   * Whether the copy has all that was written to its file, closed files included. Waits for one that falls behind, but
   * not long, and not again before it has caught up.
   */
  async holds(key: string): Promise<boolean> {
    const copy = this.#copies.get(key);
    if (copy === undefined) return false;
    if (!copy.isCaughtUp && !this.#behind.has(copy)) {
      await this.#within(this.#options.waitMsMax, copy.whenCaughtUp());
    }
    if (copy.isCaughtUp) this.#behind.delete(copy);
    else this.#behind.add(copy);
    return copy.isCaughtUp;
  }

  /** Forgets a copy that is to be deleted. */
  forget(key: string): void {
    const copy = this.#copies.get(key);
    this.#copies.delete(key);
    copy?.drop("nobody needs it", undefined);
  }

  /** Resolves when every file that has ended has its copy, or none. */
  async whenSettled(): Promise<void> {
    await Promise.all([...this.#unsettled].map((copy) => copy.settled));
  }

  /** Waits a little for what is under way; deletes nothing. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const copy of this.#unsettled) copy.end();
    await this.#within(this.#options.closeWaitMsMax, this.whenSettled());
    this.#hideGauge();
  }

  admit(bytes: number): boolean {
    if (this.#queuedBytes + bytes > this.#options.queueBytesMax) return false;
    this.#queuedBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#queuedBytes -= bytes;
  }

  onDropped(copy: LocalCopy, reason: string, error: unknown): void {
    // One that is forgotten is no failure.
    if (this.#copies.delete(copy.key)) this.#failed(copy.key, reason, error);
  }

  onSettled(copy: LocalCopy): void {
    this.#unsettled.delete(copy);
  }

  #failed(key: string, reason: string, error: unknown): void {
    this.#metrics.localFailures.add();
    this.logger.log("warning", "Goes on without the local copy of a change file", {
      key,
      reason,
      error,
    });
  }

  /** Waits for a promise that never rejects, but not longer than this. */
  #within(ms: number, promise: Promise<void>): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.schedule(ms, resolve, { keepsAlive: true });
      void promise.then(() => (timer.cancel(), resolve()));
    });
  }
}
