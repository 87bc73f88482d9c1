/** Seeded chance for tests: small, fast, the same on every runtime. */
export class TestRandom {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to 2^32 - 1. Source: Steele, Lea, Flood: SplitMix (32-bit variant). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.next() / 2 ** 32 * limit);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.next() & 0xff);
  }
}

/** Seed of this run: `SEED` in the environment, or a fixed one. */
export function testSeed(): number {
  const given = (globalThis as { process?: { env: Record<string, string | undefined> } }).process
    ?.env.SEED;
  return given === undefined ? 20_240_117 : Number(given);
}
