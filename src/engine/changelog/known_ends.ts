/**
 * How far writers are known to have come, whether what they appended can be read or not.
 * @module
 */
export class KnownEnds {
  /** By writer and epoch, the end of the last change. */
  readonly #ends = new Map<string, Map<number, number>>();

  /** Takes in that a writer had come to an offset in an epoch. */
  see(writer: string, epoch: number, offset: number): void {
    let ends = this.#ends.get(writer);
    if (ends === undefined) this.#ends.set(writer, ends = new Map());
    ends.set(epoch, Math.max(offset, ends.get(epoch) ?? 0));
  }

  /**
   * Where each writer had come.
   *
   * @param sinceEpoch Per writer, the epoch from which on it counts: what older ones appended beyond it was left out.
   */
  all(sinceEpoch: ReadonlyMap<string, number>): Map<string, number> {
    const all = new Map<string, number>();
    for (const [writer, ends] of this.#ends) {
      const since = sinceEpoch.get(writer) ?? 0;
      const counted = [...ends].filter(([epoch]) => epoch >= since).map(([, offset]) => offset);
      all.set(writer, Math.max(0, ...counted));
    }
    return all;
  }
}
