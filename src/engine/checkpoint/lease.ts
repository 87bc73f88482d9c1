/**
 * Leases of readers in other processes (DESIGN, protocol *Read*): what a reader needs is not deleted while its lease
 * is renewed.
 * Owns: taking, renewing and reading leases. Does not own: deleting what nobody holds.
 * @module
 */
import { hasCode, TidemarkError } from "../errors.ts";
import { decodeLease, encodeLease, type LeaseBody } from "../format/lease.ts";
import type { Clock, Timer } from "../port/clock.ts";
import type { Ports } from "../port/ports.ts";
import { newUuid } from "../uuid.ts";
import { readOptional } from "../storage/derived.ts";
import type { JobPlace } from "./catalog_read.ts";

/** How long a lease holds after its last renewal. */
export const LEASE_MS = 60_000;
const RENEWAL_MS = 20_000;
/** A reader gives up earlier than the owner, so that neither is wrong by a little. */
const MARGIN_MS = 10_000;
const TAG = "reader";

/** What a lease is for. */
export type LeaseTarget = Pick<LeaseBody, "checkpoint" | "isTail">;

/** A lease that is held, and renewed until it is closed. */
export class Lease {
  readonly key: string;
  readonly #place: JobPlace;
  readonly #ports: Ports;
  readonly #bytes: Uint8Array;
  #renewedMs: number;
  #timer: Timer | undefined;
  #renewal: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(
    place: JobPlace,
    ports: Ports,
    key: string,
    bytes: Uint8Array,
    takenMs: number,
  ) {
    this.#place = place;
    this.#ports = ports;
    this.key = key;
    this.#bytes = bytes;
    this.#renewedMs = takenMs;
    this.#scheduleRenewal();
  }

  /** Takes a lease; undefined without the right to write, or the room. */
  static async take(
    place: JobPlace,
    ports: Ports,
    target: LeaseTarget,
  ): Promise<Lease | undefined> {
    const { backend, keys, store } = place;
    const key = keys.reader(newUuid(ports));
    const createdAtMs = ports.clock.nowMs();
    // From before the write: the owner counts from the file's time.
    const takenMs = ports.clock.monotonicMs();
    const bytes = encodeLease({ key, store, job: keys.job, ...target, createdAtMs });
    try {
      await backend.put(key, bytes, { tag: TAG });
    } catch (error) {
      // What is only read must be readable without the right to write, and on a full disk.
      if (hasCode(error, "storage-denied") || hasCode(error, "storage-full")) return undefined;
      throw error;
    }
    return new Lease(place, ports, key, bytes, takenMs);
  }

  /** @throws {TidemarkError} `snapshot-expired` when it could not be renewed in time. */
  check(): void {
    if (this.#clock.monotonicMs() - this.#renewedMs <= LEASE_MS - MARGIN_MS) return;
    throw snapshotExpired(this.#place.keys.job);
  }

  /** Lets go. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#renewal;
    try {
      await this.#place.backend.delete(this.key);
    } catch (error) {
      // It ends by itself, and the owner deletes it then.
      this.#ports.logger.log("warning", "Cannot delete a lease", { key: this.key, error });
    }
  }

  get #clock(): Clock {
    return this.#ports.clock;
  }

  #scheduleRenewal(): void {
    this.#timer = this.#clock.schedule(RENEWAL_MS, () => {
      this.#renewal = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const begunMs = this.#clock.monotonicMs();
    try {
      await this.#place.backend.put(this.key, this.#bytes, { tag: TAG });
      this.#renewedMs = begunMs;
    } catch (error) {
      this.#ports.logger.log("warning", "Cannot renew a lease", { key: this.key, error });
    }
    if (!this.#isClosed) this.#scheduleRenewal();
  }
}

/** What the leases of a job hold. */
export interface HeldByReaders {
  readonly checkpoints: ReadonlySet<string>;
  /** Whether somebody reads the tail. */
  readonly holdsTail: boolean;
}

/**
 * Reads the leases of a job, and deletes those that have ended. One that can't be read holds everything.
 *
 * @param nowMs The store's clock.
 */
export async function readLeases(place: JobPlace, nowMs: number): Promise<HeldByReaders> {
  const { backend, keys, store } = place;
  const checkpoints = new Set<string>();
  let holdsTail = false;
  for await (const { key, modifiedMs } of backend.list(keys.readersPrefix)) {
    if (nowMs - modifiedMs > LEASE_MS) {
      await backend.delete(key);
      continue;
    }
    try {
      const bytes = await readOptional(backend, key);
      if (bytes === undefined) continue;
      const lease = decodeLease(key, bytes, { store, job: keys.job });
      if (lease.checkpoint !== null) checkpoints.add(lease.checkpoint);
      holdsTail ||= lease.isTail;
    } catch (error) {
      if (!hasCode(error, "corrupt")) throw error;
      holdsTail = true;
    }
  }
  return { checkpoints, holdsTail };
}

/** The error of a reader whose snapshot may be gone. */
export function snapshotExpired(job: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    "snapshot-expired",
    `What was read of job ${job} is kept no more: read again, from a newer checkpoint`,
    { details: { job }, cause },
  );
}
