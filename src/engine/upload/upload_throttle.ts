/**
 * Bounds what is held in memory on its way to the store. A job has one: it counts active, waiting, failed and
 * in-flight bytes, admitted once, and let go when they are durable or given up. Seed: `UploadThrottle`.
 * Owns: the counter, who waits for room, and in which order. Does not own: the bytes, making room.
 * @module
 */
import type { Clock } from "../port/clock.ts";
import type { UploadMetrics } from "./upload_metrics.ts";

/**
 * Tells whether a component takes more work. Seed: `AvailabilityProvider`.
 *
 * @example
 * ```ts
 * import { type AvailabilityProvider, UploadThrottle } from "@tidemark/tidemark";
 *
 * const throttle = new UploadThrottle(100);
 * const availability: AvailabilityProvider = throttle;
 * throttle.tryAdmit(100);
 * console.assert(!availability.isAvailable());
 * throttle.uploadCompleted(100);
 * await availability.whenAvailable();
 * ```
 */
export interface AvailabilityProvider {
  /** Whether more work is taken. */
  isAvailable(): boolean;
  /** Resolves when more work is taken; at once when it is taken already. */
  whenAvailable(): Promise<void>;
}

/**
 * What a throttle is made of, besides its limits.
 *
 * @example
 * ```ts
 * import { UploadThrottle, type UploadThrottleOptions } from "@tidemark/tidemark";
 *
 * let shortages = 0;
 * const options: UploadThrottleOptions = { onShortage: () => void shortages++ };
 * const throttle = new UploadThrottle(100, 100, options);
 * throttle.tryAdmit(100);
 * await Promise.resolve();
 * console.assert(shortages === 1);
 * ```
 */
export interface UploadThrottleOptions {
  /** Called, soon, when room is wanted: what is held should be uploaded. @default nobody */
  readonly onShortage?: () => void;
  /** Where waits are counted, and by which clock. @default nowhere */
  readonly waits?: { readonly clock: Clock; readonly metrics: UploadMetrics };
}

/**
 * Options of {@link UploadThrottle.requestUpload}.
 *
 * @example
 * ```ts
 * import { type RequestUploadOptions, UploadThrottle } from "@tidemark/tidemark";
 *
 * const options: RequestUploadOptions = { signal: AbortSignal.timeout(1_000) };
 * const throttle = new UploadThrottle(100);
 * await throttle.requestUpload(60, options);
 * console.assert(throttle.bytes === 60);
 * ```
 */
export interface RequestUploadOptions {
  /** Ends the wait, with nothing taken. @default never */
  readonly signal?: AbortSignal;
}

/**
 * Whoever waits for room, told within the very call that makes it, so that an order can be kept.
 *
 * @example
 * ```ts
 * import { type RoomRequest, UploadThrottle } from "@tidemark/tidemark";
 *
 * const told: string[] = [];
 * const request: RoomRequest = {
 *   admit: () => void told.push("admitted"),
 *   refuse: ({ message }) => void told.push(message),
 * };
 * const throttle = new UploadThrottle(100);
 * throttle.tryAdmit(100);
 * throttle.request(60, request);
 * throttle.uploadCompleted(100);
 * console.assert(told.join() === "admitted" && throttle.bytes === 60);
 * ```
 */
export interface RoomRequest {
  /** The bytes are taken in. */
  admit(): void;
  /**
   * The throttle was closed; nothing is taken in.
   *
   * @param reason What it was closed with.
   */
  refuse(reason: Error): void;
}

interface Waiting extends RoomRequest {
  readonly size: number;
}

/**
 * Counts bytes against a soft limit, at which availability turns, and a hard one, which is never passed.
 *
 * Whoever waits is served in order of arrival, and nobody overtakes: while somebody waits, nothing is available, and
 * what asks without waiting is refused even if it would fit. Else small appends could keep a large request waiting
 * for ever. The refusal is short, since whatever is held is on its way out.
 *
 * @example
 * ```ts
 * import { UploadThrottle } from "@tidemark/tidemark";
 *
 * const throttle = new UploadThrottle(1_000);
 * await throttle.requestUpload(800);
 * const second = throttle.requestUpload(300); // waits, since 1,100 bytes are too many
 * console.assert(!throttle.isAvailable());
 * throttle.uploadCompleted(800);
 * await second;
 * console.assert(throttle.bytes === 300);
 * ```
 */
export class UploadThrottle implements AvailabilityProvider {
  readonly #softBytes: number;
  readonly #hardBytes: number;
  readonly #onShortage: (() => void) | undefined;
  readonly #waits: UploadThrottleOptions["waits"];
  readonly #requests = new Set<Waiting>();
  #bytes = 0;
  /** Largest size that was refused and would still not fit. */
  #refusedBytes = 0;
  #waiters: (() => void)[] = [];
  #isAsking = false;
  #closed: Error | undefined;

  /**
   * Makes a throttle that holds nothing.
   *
   * @param softBytes Availability turns here.
   * @param hardBytes Never passed, but by what is larger and comes alone. @default softBytes
   * @param options Who is told of shortages and waits. @default {}
   * @throws {RangeError} Limits that are not above 0, or the hard one below the soft one.
   */
  constructor(
    softBytes: number,
    hardBytes: number = softBytes,
    options: UploadThrottleOptions = {},
  ) {
    if (!(softBytes > 0 && hardBytes >= softBytes)) {
      throw new RangeError(
        `Cannot throttle at ${softBytes} bytes with a hard limit of ${hardBytes}: wants more than 0, and the hard limit not below`,
      );
    }
    this.#softBytes = softBytes;
    this.#hardBytes = hardBytes;
    this.#onShortage = options.onShortage;
    this.#waits = options.waits;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes at which availability turns. */
  get softBytes(): number {
    return this.#softBytes;
  }

  /** Requests that wait for room. */
  get waitingCount(): number {
    return this.#requests.size;
  }

  /** Whether the soft limit is not reached, nobody waits, and what was refused would fit; or it is closed. */
  isAvailable(): boolean {
    if (this.#closed !== undefined) return true;
    return this.#bytes < this.#softBytes && this.#requests.size === 0 && this.#refusedBytes === 0;
  }

  whenAvailable(): Promise<void> {
    if (this.isAvailable()) return Promise.resolve();
    const waitIsOver = this.#beginWait();
    return new Promise((resolve) => this.#waiters.push(() => (waitIsOver(), resolve())));
  }

  /**
   * Waits until `size` bytes are taken in: as soon as they fit and it is their turn. What is larger than the limit
   * is taken when nothing else is held. Seed: `requestUpload`.
   *
   * @param size Bytes, 0 or more.
   * @param options What ends the wait. @default {}
   * @throws The signal's reason, or that of a close; nothing is taken then.
   */
  requestUpload(size: number, { signal }: RequestUploadOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = (): void => {
        leave();
        reject(signal!.reason);
      };
      const over = (): void => signal?.removeEventListener("abort", abort);
      signal?.addEventListener("abort", abort, { once: true });
      const leave = this.request(size, {
        admit: () => (over(), resolve()),
        refuse: (reason) => (over(), reject(reason)),
      });
    });
  }

  /**
   * Like {@link requestUpload}, with callbacks: exactly one is called, once, perhaps at once.
   *
   * @param size Bytes, 0 or more.
   * @param request Who is told.
   * @returns Ends the wait, with nothing taken and nobody called; does nothing when it is over.
   */
  request(size: number, request: RoomRequest): () => void {
    if (this.#closed !== undefined) {
      request.refuse(this.#closed);
      return () => {};
    }
    if (this.#take(size)) {
      request.admit();
      return () => {};
    }
    const waitIsOver = this.#beginWait();
    const waiting: Waiting = {
      size,
      admit: () => (waitIsOver(), request.admit()),
      refuse: (reason) => request.refuse(reason),
    };
    this.#requests.add(waiting);
    this.#askForRoom();
    return () => {
      // Whoever stood behind it may fit.
      if (this.#requests.delete(waiting)) this.#serve();
    };
  }

  /**
   * Takes `size` bytes in at once, unless they do not fit or somebody waits. More than the limit is taken when
   * nothing else is held. What did not fit turns availability until it would, so that whoever waits for
   * availability does not ask in vain.
   *
   * @param size Bytes, 0 or more.
   * @returns Whether they were taken; else nothing of them was.
   */
  tryAdmit(size: number): boolean {
    if (this.#take(size)) return true;
    if (!this.#fits(size)) this.#refusedBytes = Math.max(this.#refusedBytes, size);
    this.#askForRoom();
    return false;
  }

  /**
   * Lets bytes go. Seed: `uploadCompleted`.
   *
   * @param size Bytes, as they were taken in.
   * @throws {RangeError} More than is held.
   */
  uploadCompleted(size: number): void {
    if (!(size >= 0 && size <= this.#bytes)) {
      throw new RangeError(`Cannot let ${size} bytes go: ${this.#bytes} are held`);
    }
    this.#bytes -= size;
    this.#serve();
  }

  /**
   * Ends every wait: requests fail; who waits for availability goes on, to hear from its next call. Idempotent.
   *
   * @param reason What requests fail with.
   */
  close(reason: Error): void {
    this.#closed ??= reason;
    const requests = [...this.#requests];
    this.#requests.clear();
    for (const request of requests) request.refuse(this.#closed);
    this.#tellWaiters();
  }

  /** Begins to measure a wait; the answer ends it. */
  #beginWait(): () => void {
    if (this.#waits === undefined) return () => {};
    const { clock, metrics } = this.#waits;
    const startMs = clock.monotonicMs();
    return () => metrics.throttleWaits.record((clock.monotonicMs() - startMs) / 1000);
  }

  #take(size: number): boolean {
    if (!(size >= 0)) throw new RangeError(`Cannot admit ${size} bytes: wants 0 or more`);
    if (this.#requests.size > 0 || !this.#fits(size)) return false;
    this.#bytes += size;
    if (!this.isAvailable()) this.#askForRoom();
    return true;
  }

  #fits(size: number): boolean {
    return this.#bytes === 0 || this.#bytes + size <= this.#hardBytes;
  }

  #serve(): void {
    if (this.#requests.size > 0) this.#admitThoseThatFit();
    if (this.#fits(this.#refusedBytes)) this.#refusedBytes = 0;
    if (this.isAvailable()) this.#tellWaiters();
    else this.#askForRoom();
  }

  #admitThoseThatFit(): void {
    for (const request of this.#requests) {
      if (!this.#fits(request.size)) break;
      this.#requests.delete(request);
      this.#bytes += request.size;
      request.admit();
    }
  }

  #tellWaiters(): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  /** Asks once for all that happens in this turn, and only if room is still wanted then. */
  #askForRoom(): void {
    if (this.#onShortage === undefined || this.#isAsking) return;
    this.#isAsking = true;
    void Promise.resolve().then(() => {
      this.#isAsking = false;
      if (!this.isAvailable()) this.#onShortage!();
    });
  }
}
