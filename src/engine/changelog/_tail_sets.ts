/** What the change sets of a tail, one after the other, make of its files. @module */
import { compareFiles } from "./file_order.ts";
import type { NeededFile, SetPlace, Tail, UnprovenBatch, WriterEnd } from "./tail.ts";

/** The change sets of a tail, added up. */
export class TailSets {
  readonly #lengths = new Map<string, NeededFile>();
  readonly #unproven = new Map<string, UnprovenBatch>();
  /** Per writer, where what is not proven begins. */
  readonly #unprovenFrom = new Map<string, number>();
  #sets = 0;
  #changes = 0;

  /** Takes a set in; those of a writer come in order. */
  take({ file, batchEnd, indexHash, isUnproven, entry }: SetPlace): void {
    const { writer, firstOffset, count } = entry;
    this.#sets += 1;
    this.#changes += count;
    if (isUnproven) {
      if (!this.#unprovenFrom.has(writer)) this.#unprovenFrom.set(writer, firstOffset);
      this.#unproven.set(file.key, { file, end: batchEnd, indexHash });
    } else if (batchEnd > (this.#lengths.get(file.key)?.length ?? 0)) {
      this.#lengths.set(file.key, { ...file, length: batchEnd, indexHash });
    }
  }

  /** What they come to, where writers end so. */
  result(
    ends: ReadonlyMap<string, WriterEnd>,
  ): Pick<Tail, "files" | "proven" | "unproven" | "sets" | "changes"> {
    const proven = new Map(
      [...ends.values()].map(({ writer, nextOffset }) => [
        writer,
        this.#unprovenFrom.get(writer) ?? nextOffset,
      ]),
    );
    const files = [...this.#lengths.values()].sort((a, b) => compareFiles(a.name, b.name));
    const unproven = [...this.#unproven.values()];
    return { files, proven, unproven, sets: this.#sets, changes: this.#changes };
  }
}
