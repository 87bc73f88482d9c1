/** A disk whose calls take as long as a test wants. @module */
import assert from "node:assert/strict";
import type { Appender } from "../../../src/engine/storage/backend.ts";
import { xxh64 } from "../../../wasm/mod.ts";
import type { FaultyBackend } from "../../doubles/faulty_backend.ts";
import type { SeededRandom } from "../../doubles/seeded_random.ts";

/**
 * Has calls of a backend's appenders wait, before they take effect or after it, as those of a busy disk do. Checks that
 * nothing is written while a sync runs, and that what is written stays as it is meanwhile.
 */
export class SlowDisk {
  /** Lengths up to which each file was synced, in order. */
  readonly synced = new Map<string, number[]>();
  readonly #random: SeededRandom;
  readonly #failsOften: boolean;
  readonly #gates: (() => void)[] = [];

  constructor(backend: FaultyBackend, random: SeededRandom, failsOften: boolean) {
    this.#random = random;
    this.#failsOften = failsOften;
    const create = backend.createAppender.bind(backend);
    backend.createAppender = async (key) => {
      await this.#wait();
      return this.#slow(await create(key));
    };
  }

  get waitingCount(): number {
    return this.#gates.length;
  }

  /** Lets one of the calls that wait go on. */
  releaseOne(): void {
    if (this.#gates.length > 0) this.#gates.splice(this.#random.below(this.#gates.length), 1)[0]();
  }

  /** Lets all that wait go on. */
  release(): void {
    for (const go of this.#gates.splice(0)) go();
  }

  async #wait(): Promise<void> {
    if (this.#random.chance(0.3)) return;
    await new Promise<void>((resolve) => this.#gates.push(resolve));
  }

  async #around(effect: () => Promise<void>): Promise<void> {
    if (this.#random.chance(0.5)) await this.#wait();
    if (this.#failsOften && this.#random.chance(0.05)) throw new Error("the disk fails");
    await effect();
    await this.#wait();
  }

  #slow(inner: Appender): Appender {
    const ends: number[] = [];
    this.synced.set(inner.key, ends);
    let syncing = 0;
    return {
      key: inner.key,
      get length() {
        return inner.length;
      },
      write: async (bytes) => {
        assert.equal(syncing, 0, "it is written while a sync runs");
        const hash = xxh64(bytes);
        try {
          await this.#around(() => inner.write(bytes));
        } finally {
          assert.equal(xxh64(bytes), hash, "memory changes while it is written");
        }
      },
      sync: async () => {
        const end = inner.length;
        syncing += 1;
        await this.#around(() => inner.sync()).finally(() => syncing -= 1);
        ends.push(end);
      },
      close: () => inner.close(),
    };
  }
}
