/** Chance that a seed replays. @module */
import type { Random } from "../../src/engine/port/random.ts";

/** A small generator (mulberry32): the same seed gives the same sequence. Not for secrets. */
export class SeededRandom implements Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to 2^32 - 1. */
  nextUint32(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A whole number from 0 to `end - 1`. */
  below(end: number): number {
    return Math.floor(this.nextUint32() / 2 ** 32 * end);
  }

  /** True with probability `share`. */
  chance(share: number): boolean {
    return this.nextUint32() / 2 ** 32 < share;
  }

  /** One of `choices`. */
  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)];
  }

  fill(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index++) bytes[index] = this.nextUint32() & 0xff;
  }
}
