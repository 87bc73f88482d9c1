/**
 * A restore over HTTP, of one writer after the other.
 *
 * Owns: what exactly is read, going on where a connection broke, the count and hash of it all.
 * Does not own: the reading of one answer (`_change_stream.ts`).
 */
import { Xxh64 } from "../../wasm/mod.ts";
import { RestoredChanges } from "../engine/changelog/restored_changes.ts";
import { filterSlice } from "../engine/changelog/slice_filter.ts";
import { hasCode, TidemarkError } from "../engine/errors.ts";
import { formatHash } from "../engine/format/hash_text.ts";
import type {
  RestoredChange,
  RestoredSlice,
  RestoreOptions,
  RestoreStream,
  RestoreTrailer,
} from "../engine/types.ts";
import { isBroken } from "./_change_stream.ts";
import type { Patience } from "./_patience.ts";
import type { SidecarCalls } from "./sidecar_calls.ts";

/** What a restore works with. */
export interface RestoreParts {
  readonly job: string;
  readonly calls: SidecarCalls;
  readonly newPatience: () => Patience;
  /** What ends every wait of the client. */
  readonly closed: AbortSignal;
}

/** What exactly is read. */
interface Plan {
  /** A checkpoint's uuid, or `tail`. */
  readonly at: string;
  /** The writers, with where each ends where that is known. */
  readonly writers: ReadonlyMap<string, number | undefined>;
  /** The run whose tail is read. */
  readonly run?: number;
}

/** A restore in progress. */
export class RemoteRestore implements RestoreStream {
  readonly trailer: Promise<RestoreTrailer>;
  readonly #parts: RestoreParts;
  readonly #options: RestoreOptions;
  #isStarted = false;
  /** How many of the changes are known to stay. */
  #confirmed = 0;
  /** How many answers were begun to be read. */
  #answers = 0;
  #resolveTrailer!: (trailer: RestoreTrailer) => void;
  #rejectTrailer!: (error: unknown) => void;

  constructor(parts: RestoreParts, options: RestoreOptions) {
    this.#parts = parts;
    this.#options = options;
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
    try {
      const { keyGroups } = this.#options;
      const hash = new Xxh64();
      let count = 0;
      for await (const whole of this.#read()) {
        for (const slice of filterSlice(whole, { keyGroups })) {
          hash.update(slice.bytes);
          count += slice.count;
          yield slice;
        }
      }
      outcome = undefined;
      const confirmed = Math.min(count, this.#confirmed);
      this.#resolveTrailer({ count, hash: formatHash(hash.digest()), confirmed });
    } catch (error) {
      outcome = error;
      throw error;
    } finally {
      if (outcome !== undefined) this.#rejectTrailer(outcome);
    }
  }

  async *#read(): AsyncGenerator<RestoredSlice> {
    this.#options.signal?.throwIfAborted();
    const plan = await this.#plan();
    for (const [writer, end] of plan.writers) {
      yield* this.#readWriter(plan, writer, end);
    }
    // What several answers said of a tail belongs together only where it is of one run.
    if (this.#answers > 1) await this.#checkRun(plan);
  }

  /** Fixed before anything is read: a checkpoint made meanwhile must not be read half-way. */
  async #plan(): Promise<Plan> {
    const { calls, job } = this.#parts;
    const { at = "latest", writers, fallback, signal } = this.#options;
    if (at === "tail") {
      const described = await calls.job(job, { signal });
      const names = writers ?? described.writers.map(({ writer }) => writer);
      return { at, writers: withoutEnds(names), run: described.run };
    }
    if (fallback === true) return await this.#planOfLine(at);
    const { uuid, writers: all } = await calls.checkpointDetails(job, at, { signal });
    const ends = new Map<string, number | undefined>(
      all.map(({ writer, nextOffset }) => [writer, nextOffset]),
    );
    const names = writers ?? [...ends.keys()];
    return { at: uuid, writers: new Map(names.map((name) => [name, ends.get(name)])) };
  }

  /**
   * The sidecar finds out which checkpoint of the line is whole, of one writer after the other: all start from the same,
   * and have the writers of whichever it is, also those that have ended since.
   */
  async #planOfLine(at: string): Promise<Plan> {
    const { calls, job } = this.#parts;
    const { writers, signal } = this.#options;
    const listed = new Map(
      (await calls.checkpoints(job, { signal })).map((one) => [one.uuid, one]),
    );
    const wanted = at.toLowerCase();
    const first = wanted === "latest"
      ? [...listed.values()].find(({ isHead }) => isHead)
      : listed.get(wanted);
    if (first === undefined) throw notListed(job, at);
    const names = new Set<string>(writers);
    for (let one = writers ? undefined : first; one; one = listed.get(one.parent ?? "")) {
      try {
        const details = await calls.checkpointDetails(job, one.uuid, { signal });
        for (const { writer } of details.writers) names.add(writer);
      } catch (error) {
        // Nor is it whole then.
        if (!isOfData(error)) throw error;
      }
    }
    return { at: first.uuid, writers: withoutEnds([...names]) };
  }

  async *#readWriter(
    plan: Plan,
    writer: string,
    end: number | undefined,
  ): AsyncGenerator<RestoredSlice> {
    const { calls, job, closed, newPatience } = this.#parts;
    const { from = 0, fallback, signal } = this.#options;
    const patience = newPatience();
    for (let next = from;;) {
      try {
        const wish = { at: plan.at, from: next, fallback, signal };
        const answer = await calls.restore(job, writer, wish);
        this.#answers += 1;
        for await (const { bytes, count } of answer.counted) {
          yield { writer, firstOffset: next, count, bytes };
          next += count;
          patience.achieved();
        }
        const { count, confirmed } = await answer.trailer;
        // What came before a break was read to its end by now, and so is the last part's to confirm.
        this.#confirmed += next - from - count + confirmed;
        checkEnd(writer, next, end);
        return;
      } catch (error) {
        if (this.#mayMiss(error)) return;
        if (!mayGoOn(error) || (fallback === true && next > from)) throw error;
        await patience.wait(error, [signal, closed]);
        await this.#checkRun(plan);
      }
    }
  }

  /** The older checkpoint that is read in another's place need not have every writer. */
  #mayMiss(error: unknown): boolean {
    const { fallback, writers } = this.#options;
    return fallback === true && writers === undefined && hasCode(error, "writer-not-found");
  }

  /** A tail that was rewound does not go on where it was. */
  async #checkRun({ run: wanted }: Plan): Promise<void> {
    if (wanted === undefined) return;
    const { calls, job } = this.#parts;
    const { run } = await calls.job(job, { signal: this.#options.signal });
    if (run === wanted) return;
    throw new TidemarkError(
      "snapshot-expired",
      `Cannot go on restoring the tail of job ${job}: run ${wanted} was read, and run ${run} has ` +
        `begun since; restore again`,
      { details: { job, run: wanted, currentRun: run } },
    );
  }
}

/** Of writers of which it is not known where they end. */
function withoutEnds(names: readonly string[]): Plan["writers"] {
  return new Map(names.map((name) => [name, undefined]));
}

function isOfData(error: unknown): boolean {
  return error instanceof TidemarkError && (error.kind === "corrupt" || error.kind === "not-found");
}

function notListed(job: string, at: string): TidemarkError {
  return new TidemarkError(
    "checkpoint-not-found",
    `Cannot find checkpoint ${at} of job ${job}: list its checkpoints to see which there are`,
    { details: { job, at } },
  );
}

function mayGoOn(error: unknown): boolean {
  if (isBroken(error)) return true;
  return hasCode(error, "storage-unavailable") || hasCode(error, "backpressure");
}

function checkEnd(writer: string, next: number, end: number | undefined): void {
  if (end === undefined || next >= end) return;
  throw new TidemarkError(
    "server-unreachable",
    `Cannot rely on the restore of writer ${writer}: it ends at offset ${next}, and the checkpoint ` +
      `has changes up to ${end}; restore again`,
    { details: { writer, found: next, wanted: end } },
  );
}
