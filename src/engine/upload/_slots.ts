/** Lets so many run at once, in order of arrival. @module */

/** Places that attempts take. */
export class Slots {
  readonly max: number;
  readonly #waiting = new Set<() => void>();
  #used = 0;

  constructor(max: number) {
    if (!Number.isInteger(max) || max < 1) {
      throw new RangeError(`Cannot run ${max} attempts at once: wants a whole number from 1 on`);
    }
    this.max = max;
  }

  /** Places that are taken. */
  get used(): number {
    return this.#used;
  }

  /** Calls `begin` once there is room; the answer takes that back, as long as it has not begun. */
  request(begin: () => void): () => void {
    if (this.#used < this.max) {
      this.#used += 1;
      begin();
      return () => {};
    }
    this.#waiting.add(begin);
    return () => void this.#waiting.delete(begin);
  }

  /** Gives a place to the next. */
  release(): void {
    for (const begin of this.#waiting) {
      this.#waiting.delete(begin);
      begin();
      return;
    }
    this.#used -= 1;
  }
}
