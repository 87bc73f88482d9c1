/** How fast changes become durable, beside compressing the same bytes and nothing else. @module */
import { giveBack } from "../../src/engine/changelog/_chunk_memory.ts";
import { ChangeSetBuilder } from "../../src/engine/changelog/change_set_builder.ts";
import { ChangeFileEncoder } from "../../src/engine/format/change_file_encoder.ts";
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import type { Change, Writer } from "../../src/engine/types.ts";
import type { AvailabilityProvider } from "../../src/engine/upload/upload_throttle.ts";
import { Codec, compressBound, SLOP_BYTES } from "../../wasm/mod.ts";
import { barAtLeast, type BenchBar, type BenchRow, median, speedRatio } from "./_bench.ts";
import { makeCorpus } from "./_corpora.ts";
import { type BenchEngine, watchPauses, withEngine } from "./_upload_engine.ts";

const KEY_GROUPS = 128;
const PLACE = { writer: "ingest", keyGroups: [0, KEY_GROUPS - 1], epoch: 1 } as const;
/** Of a change file that is never written. */
const HEADER = {
  store: "019ad2b4-0000-7000-8000-000000000001",
  uuid: "019ad2b4-0000-7000-8000-000000000002",
  job: "bench",
  log: "main",
  epoch: 1,
  run: 1,
  number: 1,
  createdAtMs: 0,
  predecessors: [],
};

/** Bytes of changes, small and large. */
export const SIZES = [200, 4096] as const;
/** What each should reach, of the speed of the codec alone. */
const RATIOS = { 200: 0.6, 4096: 0.75 } as const;
/** Bytes of change sets that {@link OneThread} encodes at once, as many as an upload takes by default. */
const BATCH_BYTES = DEFAULT_SETTINGS.persistSizeThresholdBytes;

/** How much to do. */
export interface IngestSizes {
  /** Bytes of data that there are; they are gone through again and again. */
  readonly corpusBytes: number;
  /** Bytes that go through before the first slice, so that memory is full when it begins. */
  readonly fillBytes: number;
  /** How often each slice goes through them. */
  readonly turns: number;
  /** Slices, of the engine and of what it is held against in turn. */
  readonly slices: number;
}

/** What one size of changes gave, as medians over the slices. */
interface Ingest {
  readonly changeBytes: (typeof SIZES)[number];
  /** MB/s of data. */
  readonly own: number;
  readonly codec: number;
  /** Of the speed of the codec alone. */
  readonly ratio: number;
  readonly ratioOfOneThread: number;
  readonly pauseMsMax: number;
}

/** Measures both sizes of changes. */
export async function measureIngest(
  sizes: IngestSizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  const corpus = makeCorpus("json", sizes.corpusBytes);
  const found: Ingest[] = [];
  for (const changeBytes of SIZES) found.push(await ingest(changeBytes, corpus, sizes));
  return { rows: found.flatMap(rowsOf), bars: found.map(barOf) };
}

function rowsOf({ changeBytes, own, codec, ratioOfOneThread, pauseMsMax }: Ingest): BenchRow[] {
  const of = `changes of ${changeBytes} bytes`;
  return [
    { what: `ingest of ${of}, MB/s`, measured: own },
    { what: `codec alone, ${of}, MB/s`, measured: codec },
    { what: `append and encode without a disk x codec alone, ${of}`, measured: ratioOfOneThread },
    { what: `longest pause of the event loop, ${of}, ms`, measured: pauseMsMax },
  ];
}

function barOf({ changeBytes, ratio }: Ingest): BenchBar {
  const name = changeBytes === 200 ? "200 bytes" : "4 KiB";
  return barAtLeast(`ingest x codec alone, changes of ${name}`, RATIOS[changeBytes], ratio);
}

/** Memory stays full as it was when the first slice began: from then on as much becomes durable as is appended. */
function ingest(
  changeBytes: Ingest["changeBytes"],
  corpus: Uint8Array,
  { fillBytes, turns, slices }: IngestSizes,
): Promise<Ingest> {
  const changes = cut(corpus, changeBytes);
  const alone = new CodecAlone(encodeChanges(changes).bytes);
  const sliceBytes = changes.length * changeBytes * turns;
  return withEngine({}, async (engine) => {
    await appendAll(engine, changes, Math.ceil(fillBytes * turns / sliceBytes) + turns);
    const times: Record<"own" | "codec" | "oneThread", number[]> = {
      own: [],
      codec: [],
      oneThread: [],
    };
    let pauseMsMax = 0;
    for (let slice = 0; slice < slices; slice++) {
      const { result, pauseMsMax: pauseMs } = await watchPauses(() =>
        timedAsync(() => appendAll(engine, changes, turns))
      );
      times.own.push(result);
      pauseMsMax = Math.max(pauseMsMax, pauseMs);
      times.codec.push(timed(() => alone.run(turns)));
      times.oneThread.push(timed(() => appendAndEncode(changes, turns)));
    }
    await persistChecked(engine);
    const speed = (all: readonly number[]): number => sliceBytes / 1000 / median(all);
    return {
      changeBytes,
      own: speed(times.own),
      codec: speed(times.codec),
      ratio: speedRatio(times.own, times.codec),
      ratioOfOneThread: speedRatio(times.oneThread, times.codec),
      pauseMsMax,
    };
  });
}

/** Data as changes of one size. */
export function cut(corpus: Uint8Array, changeBytes: number): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at + changeBytes <= corpus.length; at += changeBytes) {
    const keyGroup = changes.length % KEY_GROUPS;
    changes.push({ keyGroup, data: corpus.subarray(at, at + changeBytes) });
  }
  return changes;
}

/** Appends everything `turns` times, as fast as memory allows. */
export async function appendAll(
  { job }: BenchEngine,
  changes: readonly Change[],
  turns: number,
): Promise<void> {
  const writer = job.writer("ingest", { keyGroups: [0, KEY_GROUPS - 1] });
  const { availability } = job;
  for (let turn = 0; turn < turns; turn++) {
    for (let next = 0; next < changes.length;) {
      next = appendWhileAvailable(writer, changes, { next, availability });
      if (next < changes.length) await availability.whenAvailable();
    }
  }
}

/** Answers the first change that was not appended. */
function appendWhileAvailable(
  writer: Writer,
  changes: readonly Change[],
  { next, availability }: { next: number; availability: AvailabilityProvider },
): number {
  while (next < changes.length && availability.isAvailable()) {
    const { keyGroup, data } = changes[next++];
    writer.append(keyGroup, data);
  }
  return next;
}

async function persistChecked({ job, disk }: BenchEngine): Promise<void> {
  const mark = disk.mark();
  await job.writer("ingest").persist();
  disk.check(mark);
}

/** What one thread has to do at least for the same changes: to copy them in, and to make the bytes of a change file. */
function appendAndEncode(changes: readonly Change[], turns: number): void {
  const encoder = new ChangeFileEncoder(HEADER, DEFAULT_SETTINGS);
  encoder.begin();
  const builder = new ChangeSetBuilder(0);
  let sequenceNumber = 0;
  for (let turn = 0; turn < turns; turn++) {
    for (const { keyGroup, data } of changes) {
      builder.append(keyGroup, data);
      if (builder.byteLength < BATCH_BYTES) continue;
      const set = builder.build({ ...PLACE, sequenceNumber: sequenceNumber++ });
      for (const _ of encoder.batch([set]));
      giveBack(set.chunks);
    }
  }
}

/** Compresses bytes block by block, in the codec's memory. */
class CodecAlone {
  readonly #codec: Codec;
  readonly #length: number;
  readonly #target: number;

  constructor(bytes: Uint8Array) {
    const { blockBytes } = DEFAULT_SETTINGS;
    const room = bytes.length + compressBound(blockBytes) + 3 * SLOP_BYTES;
    this.#codec = Codec.create({ arenaBytes: room });
    this.#length = bytes.length;
    this.#codec.bytes.set(bytes, this.#codec.arenaStart);
    this.#target = this.#codec.arenaStart + bytes.length + SLOP_BYTES;
  }

  run(turns: number): void {
    const { arenaStart } = this.#codec;
    const { blockBytes } = DEFAULT_SETTINGS;
    for (let turn = 0; turn < turns; turn++) {
      for (let at = 0; at < this.#length; at += blockBytes) {
        const length = Math.min(blockBytes, this.#length - at);
        this.#codec.compress(arenaStart + at, length, this.#target);
      }
    }
  }
}

function timed(action: () => void): number {
  const startMs = performance.now();
  action();
  return performance.now() - startMs;
}

async function timedAsync(action: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await action();
  return performance.now() - startMs;
}
