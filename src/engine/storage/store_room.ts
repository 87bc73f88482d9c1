/**
 * How much a store and its jobs take, and how much they may: counted once, then kept right call by call.
 * Owns: the counts, the limits, the warning before them. Does not own: which calls are limited, making room.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import { JOBS_PREFIX } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { StorageBackend } from "./backend.ts";

/** Share of a limit from which on there is a warning. */
const WARNING_SHARE = 0.9;
/** A store that has no room for so much is full. */
const SMALL_BYTES = 65_536;
/** What is refused is counted anew first, but not more often: somebody else may have made room. */
const RECOUNT_PERIOD_MS = 10_000;

/** Settings that limit a store. */
export interface RoomLimits {
  /** Bytes of all objects of the store; 0: any. */
  readonly storeBytesMax: number;
  /** Bytes of all objects of one job; 0: any. */
  readonly jobBytesMax: number;
}

/** One limit, and what counts against it. */
interface Limit {
  readonly setting: keyof RoomLimits;
  /** What is limited, for people. */
  readonly what: string;
  readonly bytes: number;
  readonly bytesMax: number;
}

/** The room of a store. */
export class StoreRoom {
  readonly #backend: StorageBackend;
  readonly #ports: Ports;
  readonly #limits: RoomLimits;
  #sizes = new Map<string, number>();
  #storeBytes = 0;
  #jobBytes = new Map<string, number>();
  /** What changed while everything is counted. */
  #changed: Map<string, number | undefined> | undefined;
  #recounting: Promise<void> | undefined;
  #countedMs = -Infinity;
  /** Jobs that are not limited now. */
  readonly #lifted = new Set<string>();
  /** What asked for room last, and was refused. */
  #refused: { readonly key: string; readonly bytes: number } | undefined;
  /** What there was a warning about that still holds. */
  readonly #warned = new Set<string>();

  constructor(backend: StorageBackend, ports: Ports, limits: RoomLimits) {
    this.#backend = backend;
    this.#ports = ports;
    this.#limits = limits;
  }

  /** Whether anything is limited at all. */
  static isLimited({ storeBytesMax, jobBytesMax }: RoomLimits): boolean {
    return storeBytesMax > 0 || jobBytesMax > 0;
  }

  /** Counts every object. What other processes did since the last time is known from then on. */
  recount(): Promise<void> {
    return this.#recounting ??= this.#recount().finally(() => this.#recounting = undefined);
  }

  async #recount(): Promise<void> {
    this.#changed = new Map();
    const listed = new Map<string, number>();
    for await (const { key, size } of this.#backend.list("")) listed.set(key, size);
    const changed = this.#changed;
    this.#changed = undefined;
    this.#sizes = new Map();
    this.#storeBytes = 0;
    this.#jobBytes = new Map();
    for (const [key, size] of listed) this.#set(key, size);
    for (const [key, size] of changed) this.#set(key, size);
    this.#countedMs = this.#ports.clock.monotonicMs();
    this.#warn(undefined);
    for (const job of this.#jobBytes.keys()) this.#warn(job);
  }

  /** What is there is not known any more: it is counted before anything is refused. */
  expire(): void {
    this.#countedMs = -Infinity;
  }

  /** An object has this size now; undefined: it is gone. */
  set(key: string, size: number | undefined): void {
    this.#changed?.set(key, size);
    this.#set(key, size);
    this.#warn(jobOf(key));
  }

  #set(key: string, size: number | undefined): void {
    const more = (size ?? 0) - (this.#sizes.get(key) ?? 0);
    if (size === undefined) this.#sizes.delete(key);
    else this.#sizes.set(key, size);
    this.#storeBytes += more;
    const job = jobOf(key);
    if (job !== undefined) this.#jobBytes.set(job, (this.#jobBytes.get(job) ?? 0) + more);
  }

  /** What the store takes, and may take. */
  get status(): { readonly bytesUsed: number; readonly bytesMax?: number } {
    const { storeBytesMax } = this.#limits;
    const bytesUsed = this.#storeBytes;
    return storeBytesMax > 0 ? { bytesUsed, bytesMax: storeBytesMax } : { bytesUsed };
  }

  /** Whether what was refused last would be refused again; of a large one, whether a small one would be. */
  get isFull(): boolean {
    if (this.#refused === undefined) return false;
    const { key, bytes } = this.#refused;
    return this.#broken(key, Math.min(bytes, SMALL_BYTES)) !== undefined;
  }

  /** Whether a job, or the store, is close to its limit, or something was refused and nothing taken since. */
  isShort(job: string): boolean {
    return this.#refused !== undefined || this.#limitsOf(job).some(isClose);
  }

  /** Does what must have room: a job that could not be opened could not be collected either. */
  async lifted<Result>(job: string, action: () => Promise<Result>): Promise<Result> {
    this.#lifted.add(job);
    try {
      return await action();
    } finally {
      this.#lifted.delete(job);
    }
  }

  /**
   * Asks for room before bytes are written.
   *
   * @throws {TidemarkError} `storage-full`: they would pass a limit.
   */
  async require(key: string, bytes: number): Promise<void> {
    if (this.#lifted.has(jobOf(key) ?? "")) return;
    if (this.#broken(key, bytes) === undefined) {
      this.#refused = undefined;
      return;
    }
    if (this.#ports.clock.monotonicMs() - this.#countedMs >= RECOUNT_PERIOD_MS) {
      await this.recount();
    }
    const limit = this.#broken(key, bytes);
    this.#refused = limit === undefined ? undefined : { key, bytes };
    if (limit === undefined) return;
    const { setting, what, bytes: taken, bytesMax } = limit;
    throw new TidemarkError(
      "storage-full",
      `Cannot write ${bytes} bytes to ${key}: ${what} takes ${taken} bytes, and ${setting} is ${bytesMax}; let checkpoints go (retention, unpin, collect), or raise ${setting}; reading, collecting and checkpoints that let something go still work`,
      { details: { key, setting, bytes: taken, bytesMax } },
    );
  }

  /** The limit that more bytes would pass. */
  #broken(key: string, more: number): Limit | undefined {
    return this.#limitsOf(jobOf(key)).find(({ bytes, bytesMax }) => bytes + more > bytesMax);
  }

  #limitsOf(job: string | undefined): Limit[] {
    const { storeBytesMax, jobBytesMax } = this.#limits;
    const limits: Limit[] = [];
    if (storeBytesMax > 0) {
      const what = `store ${this.#backend.location}`;
      limits.push({
        setting: "storeBytesMax",
        what,
        bytes: this.#storeBytes,
        bytesMax: storeBytesMax,
      });
    }
    if (job !== undefined && jobBytesMax > 0) {
      const bytes = this.#jobBytes.get(job) ?? 0;
      limits.push({ setting: "jobBytesMax", what: `job ${job}`, bytes, bytesMax: jobBytesMax });
    }
    return limits;
  }

  /** Warns of what comes close to a limit, once until it has gone back. */
  #warn(job: string | undefined): void {
    for (const limit of this.#limitsOf(job)) {
      const { setting, what, bytes, bytesMax } = limit;
      if (!isClose(limit)) this.#warned.delete(what);
      else if (!this.#warned.has(what)) {
        this.#warned.add(what);
        this.#ports.logger.log("warning", `Room is short: ${what} is close to ${setting}`, {
          bytes,
          bytesMax,
        });
      }
    }
  }
}

function isClose({ bytes, bytesMax }: Limit): boolean {
  return bytes >= bytesMax * WARNING_SHARE;
}

function jobOf(key: string): string | undefined {
  if (!key.startsWith(JOBS_PREFIX)) return undefined;
  const rest = key.slice(JOBS_PREFIX.length);
  const at = rest.indexOf("/");
  return at < 0 ? undefined : rest.slice(0, at);
}
