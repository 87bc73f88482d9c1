/**
 * The owner key of an epoch: who created it owns the job, until the next epoch's exists.
 * Owns: taking an epoch, and the check before every acknowledgement. Does not own: the catalog, `LOCK`.
 * @module
 */
import { hasCode, TidemarkError, withUnknownOutcome } from "../errors.ts";
import { decodeOwnerKey, encodeOwnerKey } from "../format/owner_key.ts";
import { formatCount, type JobKeys } from "../paths.ts";
import type { Ports } from "../port/ports.ts";
import type { PinnedKey, StorageBackend } from "../storage/backend.ts";
import { readSmall } from "../storage/derived.ts";
import { type Reserve, withReserve } from "./reserve.ts";
import { newUuid } from "../uuid.ts";

/** How often a key is put before the answer is that its outcome is unknown. */
const ATTEMPTS_MAX = 3;
/** How many keys in a row may be left behind, as their names need not be on disk. */
const LEFT_BEHIND_MAX = 2;

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
  static takeFrom(epoch: number, options: OwnerKeyOptions): Promise<OwnerKey> {
    return knowingOutcome(async (own) => {
      for (let next = epoch;;) {
        const { owner, last } = await OwnerKey.#takeKnown(next, options, own);
        if (owner !== undefined) return owner;
        next = last + 1;
      }
    });
  }

  /**
   * Takes the first epoch above another, and every absent one below it that comes after one that is there: an owner
   * that was passed over while the key after its own is absent would go on.
   *
   * @param above An epoch that anything names.
   * @param taken Epochs whose key is there.
   */
  static async takeAbove(
    above: number,
    taken: ReadonlySet<number>,
    options: OwnerKeyOptions,
  ): Promise<OwnerKey> {
    let next = [...taken].reduce((min, epoch) => Math.min(min, epoch), above) + 1;
    for (;;) {
      while (taken.has(next)) next += 1;
      const owner = await OwnerKey.takeFrom(next, options);
      if (owner.epoch > above) return owner;
      await owner.close();
      next = owner.epoch + 1;
    }
  }

  /** Takes the epoch after this one; undefined when somebody else has it. */
  takeNext(): Promise<OwnerKey | undefined> {
    return knowingOutcome(async (own) =>
      (await OwnerKey.#takeKnown(this.epoch + 1, this.#options, own)).owner
    );
  }

  /** Takes an epoch, or the next one where the key is there and need not be on disk: it is left behind. */
  static async #takeKnown(
    epoch: number,
    options: OwnerKeyOptions,
    own: Set<number>,
  ): Promise<{ owner: OwnerKey | undefined; last: number }> {
    for (let last = epoch;; last++) {
      const placed = await OwnerKey.#put(last, options, own);
      if (placed instanceof TidemarkError) {
        if (last - epoch === LEFT_BEHIND_MAX) throw placed;
        continue;
      }
      if (placed === "taken") return { owner: undefined, last };
      const pinned = await options.backend.pin(options.keys.owner(last));
      return { owner: new OwnerKey(options, last, pinned), last };
    }
  }

  /**
   * Puts a key, again and again until it is known who has it: an epoch that is passed over while its key is absent
   * would leave the owner before it unfenced.
   *
   * @param own Epochs whose key this process created, or may have: kept up to date.
   * @returns The error that was met, when the key is there and its name need not be on disk.
   */
  static async #put(
    epoch: number,
    { backend, keys, store, ports, reserve }: OwnerKeyOptions,
    own: Set<number>,
  ): Promise<"created" | "taken" | TidemarkError> {
    const key = keys.owner(epoch);
    const writeId = newUuid(ports);
    const createdAtMs = ports.clock.nowMs();
    const body = { key, store, job: keys.job, number: epoch, writeId, createdAtMs };
    const bytes = encodeOwnerKey(body);
    const put = () => backend.putIfAbsent(key, bytes, { tag: formatCount(epoch) });
    let doubt: TidemarkError | undefined;
    for (let attempt = 1;; attempt++) {
      try {
        if (await withReserve(reserve, put) === "created") {
          own.add(epoch);
          return "created";
        }
      } catch (error) {
        const isUnknown = error instanceof TidemarkError && error.outcome === "unknown";
        if (isUnknown) own.add(epoch);
        if (!isUnknown || attempt === ATTEMPTS_MAX) throw error;
        doubt = error;
        continue;
      }
      if (doubt === undefined) return "taken";
      const found = decodeOwnerKey(key, await readSmall(backend, key), { store, job: keys.job });
      if (found.writeId === writeId) return doubt;
      own.delete(epoch);
      return "taken";
    }
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

/** Fails with the outcome `unknown` once there are own keys, or may be: they fence whoever was the owner. */
async function knowingOutcome<Taken>(
  take: (own: Set<number>) => Promise<Taken>,
): Promise<Taken> {
  const own = new Set<number>();
  try {
    return await take(own);
  } catch (error) {
    throw own.size === 0 ? error : withUnknownOutcome(error);
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
