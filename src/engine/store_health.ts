/**
 * Whether a store can be used, without a write for each who asks.
 * Owns: when it is looked at, and what was found. Does not own: the marker, the reserve, the limits.
 * @module
 */
import type { Reserve } from "./checkpoint/reserve.ts";
import { TidemarkError } from "./errors.ts";
import { PROBE_KEY } from "./paths.ts";
import type { Ports } from "./port/ports.ts";
import type { StorageBackend, StorageSpace } from "./storage/backend.ts";
import type { StoreRoom } from "./storage/store_room.ts";
import type { StatusProblem, StoreStatus } from "./types.ts";

/** How long a look counts; after one that failed, less: who waits for the store wants to know soon. */
const LOOK_MS = 10_000;
const FAILED_LOOK_MS = 1000;
/** A storage that has not answered for so long hangs, as far as whoever asks is concerned. */
const HANG_MS = 5000;

/** What is looked at. */
export interface StoreHealthOptions {
  readonly backend: StorageBackend;
  readonly ports: Ports;
  readonly reserve: Reserve;
  /** @default there is no limit */
  readonly room?: StoreRoom;
  /** Whether something may be written. */
  readonly isOwn: boolean;
  /** Throws when the store is not where it was. */
  readonly check: () => Promise<void>;
  readonly location: string;
}

/** Looks at a store now and then. */
export class StoreHealth {
  readonly #options: StoreHealthOptions;
  #looking: Promise<StatusProblem | undefined> | undefined;
  #lookedMs = -Infinity;
  #problem: StatusProblem | undefined;
  /** Calls to the storage that run: of each there is one, so that those that hang do not become more and more. */
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(options: StoreHealthOptions) {
    this.#options = options;
  }

  /** What is known of the store but for its jobs. */
  async status(): Promise<Omit<StoreStatus, "jobs">> {
    const { reserve, room } = this.#options;
    const problem = await this.#look();
    const isSilent = problem?.code === "storage-unavailable";
    const space = isSilent ? undefined : await this.#space();
    return {
      ...(space === undefined ? {} : { bytesFree: space.freeBytes, bytesTotal: space.totalBytes }),
      ...room?.status,
      isFull: reserve.isGivenUp || (room?.isFull ?? false) || problem?.code === "storage-full",
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** The room of the disk, where that can be told. */
  async #space(): Promise<StorageSpace | undefined> {
    const { backend } = this.#options;
    try {
      return await this.#inTime("space", async () => await backend.space?.());
    } catch {
      // Whoever asks wants to hear of all the rest.
      return undefined;
    }
  }

  /** Throws when the store is not where it was, or can't be looked at in time. */
  async check(): Promise<void> {
    await this.#inTime("check", this.#options.check);
  }

  /** Waits for a call to the storage, but not for ever. @throws {TidemarkError} `storage-unavailable` */
  #inTime<Answer>(what: string, call: () => Promise<Answer>): Promise<Answer> {
    const { ports: { clock }, location } = this.#options;
    const running = this.#running.get(what) as Promise<Answer> | undefined ??
      call().finally(() => this.#running.delete(what));
    this.#running.set(what, running);
    return new Promise((resolve, reject) => {
      const hangs = (): void =>
        reject(
          new TidemarkError(
            "storage-unavailable",
            `Cannot tell how store ${location} is: its storage has not answered for ${HANG_MS} ms; look at the disk`,
            { details: { location } },
          ),
        );
      const timer = clock.schedule(HANG_MS, hangs, { keepsAlive: true });
      running.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  async #look(): Promise<StatusProblem | undefined> {
    const { clock } = this.#options.ports;
    const age = clock.monotonicMs() - this.#lookedMs;
    if (age < (this.#problem === undefined ? LOOK_MS : FAILED_LOOK_MS)) return this.#problem;
    return await (this.#looking ??= this.#lookNow().finally(() => this.#looking = undefined));
  }

  async #lookNow(): Promise<StatusProblem | undefined> {
    const { ports: { clock } } = this.#options;
    try {
      await this.check();
      await this.#inTime("write", () => this.#write());
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof TidemarkError) || error.code === "closed") throw error;
      this.#problem = { code: error.code, message: error.message };
    }
    this.#lookedMs = clock.monotonicMs();
    return this.#problem;
  }

  async #write(): Promise<void> {
    const { backend, reserve, isOwn } = this.#options;
    if (!isOwn) return;
    await backend.put(PROBE_KEY, new Uint8Array([10]));
    await backend.delete(PROBE_KEY, { mayComeBack: true });
    if (reserve.isGivenUp) await reserve.ensure();
  }
}
