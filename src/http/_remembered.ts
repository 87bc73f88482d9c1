/** Values that cost something to make, by text; so many of the latest at most. */
export class Remembered<Value> {
  readonly #max: number;
  readonly #values = new Map<string, Value>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The value of a text, made unless it is remembered; what throws, or makes none, is not. */
  of(text: string, make: () => Value | undefined): Value | undefined {
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    const made = make();
    if (made === undefined) return undefined;
    // To begin anew costs less than to know which was asked for last.
    if (this.#values.size >= this.#max) this.#values.clear();
    this.#values.set(text, made);
    return made;
  }
}
