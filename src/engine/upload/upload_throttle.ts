/**
 * The job's one memory counter (DESIGN guarantee 8): active, waiting, failed and in-flight bytes.
 * Bytes are admitted once, at append, and let go when they are durable or given up.
 * Seed: `UploadThrottle`.
 * @module
 */

/** Tells whether a component takes more work. Seed: `AvailabilityProvider`. */
export interface AvailabilityProvider {
  isAvailable(): boolean;
  /** Resolves when more work is taken; at once when it is taken already. */
  whenAvailable(): Promise<void>;
}

/** Counts bytes against a soft limit, at which availability turns, and a hard one, which is never passed. */
export class UploadThrottle implements AvailabilityProvider {
  readonly #softBytes: number;
  readonly #hardBytes: number;
  #bytes = 0;
  #waiters: (() => void)[] = [];

  /** @param softBytes Availability turns here. @param hardBytes What would pass it is refused. */
  constructor(softBytes: number, hardBytes: number) {
    this.#softBytes = softBytes;
    this.#hardBytes = hardBytes;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes at which availability turns. */
  get softBytes(): number {
    return this.#softBytes;
  }

  isAvailable(): boolean {
    return this.#bytes < this.#softBytes;
  }

  whenAvailable(): Promise<void> {
    if (this.isAvailable()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Takes `size` bytes in, unless they do not fit. More than the limit is taken when nothing else is held. */
  tryAdmit(size: number): boolean {
    if (this.#bytes > 0 && this.#bytes + size > this.#hardBytes) return false;
    this.#bytes += size;
    return true;
  }

  /** Lets `size` bytes go. */
  uploadCompleted(size: number): void {
    this.#bytes -= size;
    if (this.#bytes < 0) {
      throw new RangeError(`Upload throttle let go of ${-this.#bytes} bytes too many`);
    }
    if (!this.isAvailable()) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}
