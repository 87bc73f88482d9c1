/**
 * Reads change files by segment, by file, or by ranges. Seed: the reader of `StateChangelogHandle`s.
 * Owns: which reads run. Does not own: what may be read, how a file is decoded.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { ChangeSetEntry } from "../format/change_set.ts";
import type {
  At,
  ChangelogReader,
  ChangeRange,
  PersistedSegment,
  RangedSlice,
  ReadOptions,
  RestoredSlice,
} from "../types.ts";
import { filterSlice, mayHold } from "./slice_filter.ts";
import { FileBatches } from "./file_batches.ts";
import type { ChangeFilePlace } from "./local_copies.ts";
import { openCursor } from "./restore_cursor.ts";
import type { RestoreSource } from "./restore_plan.ts";

/** Finds what may be read. */
export type OpenSource = (at: At, signal: AbortSignal) => Promise<RestoreSource>;

/** Reads the change files of one job. */
export class JobChangelogReader implements ChangelogReader {
  readonly #place: ChangeFilePlace;
  readonly #open: OpenSource;
  readonly #running = new Set<AbortController>();
  #closed: TidemarkError | undefined;

  /** @param open Asked when an iteration begins. */
  constructor(place: ChangeFilePlace, open: OpenSource) {
    this.#place = place;
    this.#open = open;
  }

  segments(
    segments: readonly PersistedSegment[],
    options: ReadOptions = {},
  ): AsyncIterable<RestoredSlice> {
    return this.#read(
      options,
      (source, signal) => readSegments(this.#place, source, segments, signal),
    );
  }

  file(key: string, options: ReadOptions & ChangeRange = {}): AsyncIterable<RestoredSlice> {
    const { at, signal: outer, ...range } = options;
    return this.#read(
      { at, signal: outer },
      (source, signal) => readFile(this.#place, source, key, { range, signal }),
    );
  }

  ranges(ranges: readonly ChangeRange[], options: ReadOptions = {}): AsyncIterable<RangedSlice> {
    return this.#read(options, (source, signal) => readRanges(this.#place, source, ranges, signal));
  }

  close(): Promise<void> {
    this.#closed ??= new TidemarkError("closed", "The changelog reader is closed: take another");
    for (const controller of this.#running) controller.abort(this.#closed);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs a read: holds what it needs, and ends it with the reader or with its signal. */
  async *#read<Slice>(
    { at = "tail", signal }: ReadOptions,
    read: (source: RestoreSource, signal: AbortSignal) => AsyncGenerator<Slice>,
  ): AsyncGenerator<Slice> {
    if (this.#closed !== undefined) throw this.#closed;
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal!.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#running.add(controller);
    let source: RestoreSource | undefined;
    try {
      controller.signal.throwIfAborted();
      source = await this.#open(at, controller.signal);
      for await (const slice of read(source, controller.signal)) {
        controller.signal.throwIfAborted();
        source.check?.();
        yield slice;
      }
    } catch (error) {
      // Why a read was stopped says more than where.
      controller.signal.throwIfAborted();
      throw await source?.explain?.(error) ?? error;
    } finally {
      this.#running.delete(controller);
      signal?.removeEventListener("abort", abort);
      await source?.release?.();
    }
  }
}

async function* readRanges(
  place: ChangeFilePlace,
  source: RestoreSource,
  ranges: readonly ChangeRange[],
  signal: AbortSignal,
): AsyncGenerator<RangedSlice> {
  const cursor = await openCursor(place, source, ranges, signal);
  for await (const slice of cursor.slices(signal)) {
    for (const [range, wanted] of ranges.entries()) {
      if (wanted.writers !== undefined && !wanted.writers.includes(slice.writer)) continue;
      for (const piece of filterSlice(slice, wanted)) yield { ...piece, range };
    }
  }
  cursor.checkEnd();
}

async function* readFile(
  place: ChangeFilePlace,
  source: RestoreSource,
  key: string,
  { range, signal }: { readonly range: ChangeRange; readonly signal: AbortSignal },
): AsyncGenerator<RestoredSlice> {
  const file = await FileBatches.open(place, source, key, { signal });
  for (const number of file.numbers) {
    signal.throwIfAborted();
    const slices = file.read(number, (sets) => sets.filter((set) => mayHold(range, set)));
    for await (const slice of slices) yield* filterSlice(slice, range);
  }
}

async function* readSegments(
  place: ChangeFilePlace,
  source: RestoreSource,
  segments: readonly PersistedSegment[],
  signal: AbortSignal,
): AsyncGenerator<RestoredSlice> {
  const files = new Map<string, FileBatches>();
  const runs = runsOf(segments);
  for (const [at, run] of runs.entries()) {
    signal.throwIfAborted();
    const { key, batch } = run[0];
    let file = files.get(key);
    if (file === undefined) {
      // All that is wanted of it is found in one go.
      const batches = new Set(segments.flatMap((one) => one.key === key ? [one.batch] : []));
      file = await FileBatches.open(place, source, key, { signal, batches });
      files.set(key, file);
    }
    yield* file.read(batch, (sets) => run.map((segment) => findSet(sets, segment)));
    if (runs[at + 1]?.[0].key !== key) file.rest();
  }
}

/** Segments that follow each other and lie in one batch. */
function runsOf(segments: readonly PersistedSegment[]): PersistedSegment[][] {
  const runs: PersistedSegment[][] = [];
  for (const segment of segments) {
    const last = runs.at(-1);
    const isOfLast = last?.[0].key === segment.key && last[0].batch === segment.batch;
    if (isOfLast) last!.push(segment);
    else runs.push([segment]);
  }
  return runs;
}

function findSet(sets: readonly ChangeSetEntry[], segment: PersistedSegment): ChangeSetEntry {
  const { key, batch, writer, sequenceNumber } = segment;
  const found = sets.find((set) => set.writer === writer && set.sequenceNumber === sequenceNumber);
  if (found !== undefined) return found;
  throw new TidemarkError(
    "object-not-found",
    `Cannot read change set ${sequenceNumber} of writer ${writer}: batch ${batch} of ${key} does not hold it`,
    { details: { key, batch, writer, sequenceNumber } },
  );
}
