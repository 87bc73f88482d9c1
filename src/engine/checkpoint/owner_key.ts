/**
 * The owner key of an epoch: who created it owns the job, until the next epoch's exists.
 * Owns: taking an epoch, and the check before every acknowledgement. Does not own: the catalog, `LOCK`.
 * @module
 */
import { hasCode, TidemarkError } from "../errors.ts";
import { encodeOwnerKey } from "../format/owner_key.ts";
import { formatCount, type JobKeys } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { PinnedKey, StorageBackend } from "../storage/backend.ts";
import { type Reserve, withReserve } from "./reserve.ts";
import { newUuid } from "../uuid.ts";

/** How many keys in a row may be left behind, since it is not known whether they are there. */
const UNKNOWNS_MAX = 3;

/** What taking an epoch needs. */
export interface OwnerKeyOptions {
  readonly backend: StorageBackend;
  readonly keys: JobKeys;
  readonly store: string;
  readonly ports: Ports;
  /** Room on a full disk. @default none */
  readonly reserve?: Reserve;
}

/** An epoch that was taken. */
export class OwnerKey {
  readonly epoch: number;
  readonly #options: OwnerKeyOptions;
  readonly #pinned: PinnedKey;
  readonly #nextKey: string;

  private constructor(options: OwnerKeyOptions, epoch: number, pinned: PinnedKey) {
    this.#options = options;
    this.epoch = epoch;
    this.#pinned = pinned;
    this.#nextKey = options.keys.owner(epoch + 1);
  }

  /** Takes the first absent epoch from `epoch` on. */
  static async takeFrom(epoch: number, options: OwnerKeyOptions): Promise<OwnerKey> {
    for (let next = epoch;;) {
      const { owner, last } = await OwnerKey.#takeKnown(next, options);
      if (owner !== undefined) return owner;
      next = last + 1;
    }
  }

  /** Takes the epoch after this one; undefined when somebody else has it. */
  async takeNext(): Promise<OwnerKey | undefined> {
    return (await OwnerKey.#takeKnown(this.epoch + 1, this.#options)).owner;
  }

  /** Takes an epoch, or the next one where it is not known whether the key is there, durably: it is left behind. */
  static async #takeKnown(
    epoch: number,
    options: OwnerKeyOptions,
  ): Promise<{ owner: OwnerKey | undefined; last: number }> {
    for (let last = epoch;; last++) {
      try {
        return { owner: await OwnerKey.#take(last, options), last };
      } catch (error) {
        const isUnknown = error instanceof TidemarkError && error.outcome === "unknown";
        if (!isUnknown || last - epoch === UNKNOWNS_MAX - 1) throw error;
      }
    }
  }

  static async #take(epoch: number, options: OwnerKeyOptions): Promise<OwnerKey | undefined> {
    const { backend, keys, store, ports } = options;
    const key = keys.owner(epoch);
    const body = encodeOwnerKey({
      key,
      store,
      job: keys.job,
      number: epoch,
      writeId: newUuid(ports),
      createdAtMs: ports.clock.nowMs(),
    });
    const result = await withReserve(
      options.reserve,
      () => backend.putIfAbsent(key, body, { tag: formatCount(epoch) }),
    );
    if (result === "exists") return undefined;
    return new OwnerKey(options, epoch, await backend.pin(key));
  }

  /** @throws {TidemarkError} `fenced` when the job has another owner. */
  check(): void {
    const { backend, keys } = this.#options;
    if (this.#pinned.isCurrent() && !backend.existsSync(this.#nextKey)) return;
    throw fenced(keys.job, this.epoch);
  }

  /** Lets go of the key's object; the key itself stays for ever. */
  close(): Promise<void> {
    return this.#pinned.close();
  }
}

/** The error of an owner that another has replaced. */
export function fenced(job: string, epoch: number): TidemarkError {
  return new TidemarkError(
    "fenced",
    `Job ${job} has another owner than that of epoch ${epoch}: nothing more is acknowledged here; open the job again to take it back`,
    { outcome: "unknown", details: { job, epoch } },
  );
}

/** Whether an error says that the job has another owner. */
export function isFenced(error: unknown): error is TidemarkError {
  return hasCode(error, "fenced");
}
