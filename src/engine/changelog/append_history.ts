/** Owns: which appends are remembered, and for how long. Does not own: stored changes. @module */
import { xxh64 } from "../../../wasm/mod.ts";
import type { EncodedChanges } from "../types.ts";

const APPENDS_MAX = 256;

/** Remembers the latest appends by hash, so that a repeated one is recognised without reading it back. */
export class AppendHistory {
  readonly #appends = new Map<number, { readonly count: number; readonly hash: bigint }>();

  /** Notes an append that begins at `offset`. */
  add(offset: number, changes: EncodedChanges): void {
    this.#appends.set(offset, { count: changes.count, hash: xxh64(changes.bytes) });
    if (this.#appends.size > APPENDS_MAX) {
      for (const oldest of this.#appends.keys()) {
        this.#appends.delete(oldest);
        break;
      }
    }
  }

  /** Whether these changes were appended at `offset`; undefined when that is not known. */
  compare(offset: number, changes: EncodedChanges): boolean | undefined {
    const known = this.#appends.get(offset);
    if (known === undefined || known.count !== changes.count) return undefined;
    return known.hash === xxh64(changes.bytes);
  }
}
