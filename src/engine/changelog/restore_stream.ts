/**
 * Reads changes back, in order within each writer, and ends with a trailer.
 * Owns: the order, filters, count and hash. Does not own: what is to be read.
 * @module
 */
import { Xxh64 } from "../../../wasm/mod.ts";
import { TidemarkError } from "../errors.ts";
import { formatHash } from "../format/hash_text.ts";
import type {
  ChangeRange,
  RestoredChange,
  RestoredSlice,
  RestoreStream,
  RestoreTrailer,
} from "../types.ts";
import { RestoredChanges } from "./restored_changes.ts";
import { filterSlice } from "./slice_filter.ts";
import type { ChangeFilePlace } from "./local_copies.ts";
import { openCursor } from "./restore_cursor.ts";
import type { RestoreSource } from "./restore_plan.ts";

/** What of a restore is wanted. */
export interface RestoreFilter extends ChangeRange {
  readonly signal?: AbortSignal;
}

/** A restore in progress. */
export class ChangelogRestore implements RestoreStream {
  readonly trailer: Promise<RestoreTrailer>;
  readonly #place: ChangeFilePlace;
  readonly #open: () => Promise<RestoreSource>;
  readonly #filter: RestoreFilter;
  #isStarted = false;
  #resolveTrailer!: (trailer: RestoreTrailer) => void;
  #rejectTrailer!: (error: unknown) => void;

  /** @param open Finds what is to be read, when the iteration begins. */
  constructor(place: ChangeFilePlace, open: () => Promise<RestoreSource>, filter: RestoreFilter) {
    this.#place = place;
    this.#open = open;
    this.#filter = filter;
    this.trailer = new Promise((resolve, reject) => {
      this.#resolveTrailer = resolve;
      this.#rejectTrailer = reject;
    });
    // Whoever iterates gets the error; who does not ask for the trailer must not be ended by it.
    this.trailer.catch(() => undefined);
  }

  [Symbol.asyncIterator](): AsyncIterator<RestoredChange> {
    return new RestoredChanges(this.slices());
  }

  async *slices(): AsyncGenerator<RestoredSlice> {
    if (this.#isStarted) throw new TypeError("Cannot iterate a restore twice: begin another");
    this.#isStarted = true;
    let outcome: unknown = new TidemarkError("aborted", "The restore was left before its end");
    let source: RestoreSource | undefined;
    try {
      source = await this.#open();
      const hash = new Xxh64();
      let count = 0;
      let confirmed = 0;
      for await (const slice of this.#read(source)) {
        source.check?.();
        hash.update(slice.bytes);
        count += slice.count;
        confirmed += countConfirmed(source, slice);
        yield slice;
      }
      outcome = undefined;
      this.#resolveTrailer({
        count,
        hash: formatHash(hash.digest()),
        confirmed,
      });
    } catch (error) {
      outcome = await source?.explain?.(error) ?? error;
      throw outcome;
    } finally {
      if (outcome !== undefined) this.#rejectTrailer(outcome);
      await source?.release?.();
    }
  }

  async *#read(source: RestoreSource): AsyncGenerator<RestoredSlice> {
    const { signal } = this.#filter;
    const cursor = await openCursor(this.#place, source, [this.#filter], signal);
    for await (const slice of cursor.slices(signal)) yield* filterSlice(slice, this.#filter);
    cursor.checkEnd();
  }
}

/** How many changes of a slice are known to be acknowledged: all of them, unless a tail's end is not. */
function countConfirmed(
  source: RestoreSource,
  { writer, firstOffset, count }: RestoredSlice,
): number {
  const known = source.confirmed.get(writer) ?? Infinity;
  return Math.min(count, Math.max(0, known - firstOffset));
}
