/** Follows the writers of a job: looks what is new, and passes it on. */
import { scanChangePrefix } from "../../engine/format/change_scan.ts";
import { MIB } from "../../engine/limits.ts";
import { hasCode, TidemarkError } from "../../engine/errors.ts";
import { cutChanges } from "../../http/change_pieces.ts";
import type { Report } from "../_report.ts";
import type { StopRequest } from "../_stop_request.ts";
import { restoreWhatIsThere } from "../target/restore_from.ts";
import type { ReadStore, ReadTarget } from "../target/target.ts";

/** Takes encoded changes of one writer; settles when there is room for more. */
export type ChangeOutput = (
  bytes: Uint8Array,
  place: { readonly writer: string; readonly firstOffset: number },
) => Promise<void>;

/** What is followed, and where it goes. */
export interface FollowerOptions {
  readonly store: ReadStore;
  readonly job: string;
  /** One writer; all where it is left out. */
  readonly writer?: string;
  /** First offset; what is new from now on where it is left out. */
  readonly from?: number;
  readonly output: ChangeOutput;
  readonly report: Report;
  readonly stop: StopRequest;
}

interface Followed {
  /** The offset that is passed on next. */
  next: number;
  /** Whether the writer has been seen there: below is behind then, and not ahead. */
  isReached: boolean;
}

/** Follows until it is not asked any more. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #writers = new Map<string, Followed>();
  #run = 0;
  #isAway = false;
  /** What the files were like when everything in them was passed on. */
  #seen = "";

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Finds out where it begins; what must be there is there then. */
  async begin(): Promise<void> {
    const { store, job, writer, from } = this.#options;
    this.#run = (await store.standing(job)).run;
    await using reader = await store.reader(job);
    for (const [name, end] of await this.#ends(reader)) {
      const next = from ?? end;
      this.#writers.set(name, { next, isReached: end >= next });
    }
    if (writer === undefined || this.#writers.has(writer)) return;
    this.#tell(`Writer ${writer} of job ${job} is not there yet: waiting for it`, { writer });
  }

  /** Passes on what has become durable since. */
  async poll(): Promise<void> {
    const { store, job, stop } = this.#options;
    try {
      const { run, head, generation, changeBytes } = await store.standing(job);
      const seen = changeBytes === undefined ? "" : `${generation} ${changeBytes}`;
      // On a folder a look at the writers reads the whole tail.
      if (seen !== "" && seen === this.#seen) return;
      await using reader = await store.reader(job);
      if (run !== this.#run) await this.#resumed(reader, run, head);
      const ends = await this.#ends(reader);
      if (this.#isAway) this.#tell(`${store.location} answers again`, { isAway: false });
      this.#isAway = false;
      for (const [writer, end] of ends) {
        if (stop.signal !== undefined) return;
        await this.#follow(reader, writer, end);
      }
      this.#seen = seen;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!this.#isAway) this.#tell(`${error.message}; waiting`, { isAway: true });
      this.#isAway = true;
    }
  }

  /** Where every writer stands, for people. */
  standing(): string {
    const places = this.positions().map(({ writer, nextOffset }) => `${writer} ${nextOffset}`);
    return `Next offsets: ${places.join(", ") || "none"}`;
  }

  positions(): { writer: string; nextOffset: number }[] {
    return [...this.#writers].map(([writer, { next }]) => ({ writer, nextOffset: next }));
  }

  /** Durable ends of the writers that are followed. */
  async #ends(reader: ReadTarget): Promise<Map<string, number>> {
    const { writer } = this.#options;
    const writers = await reader.writers();
    return new Map(
      writers.filter((one) => writer === undefined || one.writer === writer)
        .map((one) => [one.writer, one.durableOffset]),
    );
  }

  /**
   * After a resume the end of a writer may have been cut and grown again: what follows the
   * checkpoint that the job goes on from is not what was passed on.
   */
  async #resumed(reader: ReadTarget, run: number, head: string | null): Promise<void> {
    const { job } = this.#options;
    const kept = head === null ? [] : (await reader.checkpointDetails(head)).writers;
    for (const [writer, followed] of this.#writers) {
      const end = kept.find((one) => one.writer === writer)?.nextOffset ?? 0;
      if (followed.isReached && end < followed.next) {
        this.#takenBack(writer, followed, end, `job ${job} was resumed, run ${run}`);
      }
    }
    this.#run = run;
  }

  async #follow(reader: ReadTarget, writer: string, end: number): Promise<void> {
    const next = this.#options.from ?? 0;
    const followed = this.#writers.get(writer) ?? { next, isReached: end >= next };
    this.#writers.set(writer, followed);
    if (end >= followed.next) followed.isReached = true;
    else if (followed.isReached) this.#takenBack(writer, followed, end, "its end is gone");
    if (end > followed.next) await this.#passOn(reader, writer, followed);
  }

  #takenBack(writer: string, followed: Followed, nextOffset: number, reason: string): void {
    const before = followed.next;
    followed.next = nextOffset;
    this.#tell(
      `Writer ${writer} was rewound from offset ${before} to ${nextOffset}: ${reason}`,
      { writer, before, nextOffset, reason },
    );
  }

  async #passOn(reader: ReadTarget, writer: string, followed: Followed): Promise<void> {
    const { output, stop } = this.#options;
    const wish = { at: "tail", from: followed.next };
    const { from, pieces } = await restoreWhatIsThere(reader, writer, wish);
    if (from > followed.next) {
      this.#tell(`Writer ${writer} begins at offset ${from}: what was before is truncated`, {
        writer,
        nextOffset: from,
      });
      followed.next = from;
    }
    for await (const bytes of pieces) {
      for (const piece of cutChanges(bytes, MIB)) {
        await Promise.race([output(piece, { writer, firstOffset: followed.next }), stop.requested]);
        if (stop.signal !== undefined) return;
        followed.next += scanChangePrefix(piece).count;
      }
    }
  }

  #tell(text: string, value: Readonly<Record<string, unknown>>): void {
    this.#options.report.message(text, { job: this.#options.job, ...value });
  }
}

/** Whether it goes by: what was read was collected, or the sidecar is away for a while. */
function isPassing(error: unknown): error is TidemarkError {
  if (!(error instanceof TidemarkError)) return false;
  return error.kind === "unavailable" || error.kind === "closed" ||
    hasCode(error, "snapshot-expired");
}
