/**
 * When the kill test kills: moments of several kinds, shuffled by a seed.
 * @module
 */
import type { SeededRandom } from "../doubles/seeded_random.ts";

/**
 * - `load`: at any time under load
 * - `append`: just after an append was sent
 * - `large`: while an append of about a megabyte is on its way
 * - `checkpoint`: while a checkpoint is made, under load
 * - `resume`: while a resume is on its way
 * - `start`: before the sidecar listens
 * - `recovery`: while the sidecar opens the job after a kill
 */
export type Kill = LoadKill | "resume" | "start" | "recovery";

/** Those under load. */
export type LoadKill = "load" | "append" | "large" | "checkpoint";

const SHARES: readonly (readonly [kill: Kill, perFifty: number])[] = [
  ["checkpoint", 15],
  ["recovery", 11],
  ["append", 7],
  ["large", 6],
  ["load", 5],
  ["resume", 4],
  ["start", 2],
];
const FIFTY = 50;

/** So many kills, in an order that only the seed decides; the first one is under load. */
export function deckOfKills(count: number, random: SeededRandom): Kill[] {
  const deck = SHARES.flatMap(([kill, perFifty]) =>
    Array.from({ length: Math.ceil(perFifty * count / FIFTY) }, () => kill)
  );
  for (let index = deck.length - 1; index > 0; index--) {
    const other = random.below(index + 1);
    [deck[index], deck[other]] = [deck[other], deck[index]];
  }
  const whole: Kill[] = ["load", ...deck];
  return whole.slice(0, count);
}

/** How long something takes of late, so that a kill can be aimed at the middle of it. */
export class Pace {
  #typicalMs: number;

  constructor(firstGuessMs: number) {
    this.#typicalMs = firstGuessMs;
  }

  /** Takes in one more time. */
  note(tookMs: number): void {
    this.#typicalMs = (this.#typicalMs + tookMs) / 2;
  }

  /** A time within, evenly spread. */
  within(random: SeededRandom): number {
    return this.#typicalMs * random.nextUint32() / 2 ** 32;
  }
}
