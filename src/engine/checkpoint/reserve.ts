/**
 * Space that is given up when a publish meets a full disk, so that a collection can still make room.
 * Owns: `RESERVE`. Does not own: when a publish is repeated.
 * @module
 */
import { hasCode } from "../errors.ts";
import type { Ports } from "../port/ports.ts";
import { RESERVE_KEY } from "../paths.ts";
import type { StorageBackend } from "../storage/backend.ts";

/** The reserve of a store. */
export class Reserve {
  readonly #backend: StorageBackend;
  readonly #ports: Ports;
  readonly #bytes: number;
  #isGivenUp = false;

  /** @param bytes Size of the reserve; 0: there is none. */
  constructor(backend: StorageBackend, ports: Ports, bytes: number) {
    this.#backend = backend;
    this.#ports = ports;
    this.#bytes = bytes;
  }

  /** Whether it was given up, and there was no room for it since: the disk is full. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Makes the reserve where it is missing and there is room. */
  async ensure(): Promise<void> {
    if (this.#bytes === 0) return;
    try {
      if (await this.#backend.head(RESERVE_KEY) !== undefined) return;
      const bytes = new Uint8Array(this.#bytes);
      // A file system that compresses would keep no room for zeros.
      this.#ports.random.fill(bytes);
      await this.#backend.put(RESERVE_KEY, bytes);
      this.#isGivenUp = false;
    } catch (error) {
      this.#ports.logger.log("warning", "Cannot make the reserve for a full disk", { error });
    }
  }

  /** Gives the reserve up; answers whether there was one. */
  async giveUp(): Promise<boolean> {
    if (this.#bytes === 0) return false;
    try {
      const wasThere = await this.#backend.delete(RESERVE_KEY);
      this.#isGivenUp = true;
      if (wasThere) this.#ports.logger.log("warning", "Gave up the reserve: the disk is full");
      return wasThere;
    } catch (error) {
      if (!hasCode(error, "storage-full")) throw error;
      return false;
    }
  }
}

/** Does what needs a little room; on a full disk once more, after the reserve was given up. */
export async function withReserve<Result>(
  reserve: Reserve | undefined,
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    const isFull = hasCode(error, "storage-full") && error.outcome === "not-applied";
    if (!isFull || !await reserve?.giveUp()) throw error;
    return await action();
  }
}
