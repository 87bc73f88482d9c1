/** How fast changes become durable, beside compressing the same bytes and nothing else. @module */
import { encodeChanges } from "../../src/engine/format/change_input.ts";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import type { Change } from "../../src/engine/types.ts";
import { Codec, compressBound, SLOP_BYTES } from "../../wasm/mod.ts";
import { barAtLeast, barAtMost, type BenchBar, type BenchRow, median } from "./_bench.ts";
import { makeCorpus } from "./_corpora.ts";
import { watchPeakMemory } from "./_peak_memory.ts";
import { type BenchEngine, watchPauses, withEngine } from "./_upload_engine.ts";

const MIB = 1024 * 1024;
const KEY_GROUPS = 128;
/** Memory besides what is in flight. */
const OTHER_MIB_MAX = 128;

/** How much to do. */
export interface IngestSizes {
  /** Bytes of data that there are; each round goes through them several times. */
  readonly corpusBytes: number;
  /** How often each round goes through them. */
  readonly turns: number;
  readonly rounds: number;
}

/** What one size of changes gave. */
interface Ingest {
  readonly changeBytes: number;
  /** MB/s of data, median. */
  readonly own: number;
  readonly codec: number;
  readonly ratio: number;
  readonly peakMib: number;
  readonly pauseMsMax: number;
}

/** Measures both sizes of changes. */
export async function measureIngest(
  sizes: IngestSizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  const corpus = makeCorpus("json", sizes.corpusBytes);
  const small = await ingest(200, corpus, sizes);
  const large = await ingest(4096, corpus, sizes);
  const limitMib = DEFAULT_SETTINGS.inFlightBytesMax / MIB + OTHER_MIB_MAX;
  return {
    rows: [...rowsOf(small), ...rowsOf(large)],
    bars: [
      barAtLeast("ingest x codec alone, changes of 200 bytes", 0.6, small.ratio),
      barAtLeast("ingest x codec alone, changes of 4 KiB", 0.75, large.ratio),
      barAtMost(
        "peak memory of ingest, MiB",
        limitMib,
        Math.max(small.peakMib, large.peakMib),
      ),
    ],
  };
}

function rowsOf({ changeBytes, own, codec, peakMib, pauseMsMax }: Ingest): BenchRow[] {
  const of = `changes of ${changeBytes} bytes`;
  return [
    { what: `ingest of ${of}, MB/s`, measured: own },
    { what: `codec alone, ${of}, MB/s`, measured: codec },
    { what: `peak memory, ${of}, MiB`, measured: peakMib },
    { what: `longest pause of the event loop, ${of}, ms`, measured: pauseMsMax },
  ];
}

function ingest(changeBytes: number, corpus: Uint8Array, sizes: IngestSizes): Promise<Ingest> {
  const changes = cut(corpus, changeBytes);
  const alone = new CodecAlone(encodeChanges(changes).bytes);
  return withEngine({}, async (engine) => {
    await ingestAll(engine, changes, 1);
    alone.run(1);
    const memory = watchPeakMemory();
    const { result, pauseMsMax } = await watchPauses(async () => {
      const own: number[] = [];
      const codec: number[] = [];
      for (let round = 0; round < sizes.rounds; round++) {
        if (round % 2 === 0) codec.push(timed(() => alone.run(sizes.turns)));
        own.push(await timedAsync(() => ingestAll(engine, changes, sizes.turns)));
        if (round % 2 !== 0) codec.push(timed(() => alone.run(sizes.turns)));
      }
      return { own, codec };
    });
    const peakMib = memory.end();
    const { own, codec } = result;
    const speed = (times: readonly number[]): number =>
      changes.length * changeBytes * sizes.turns / 1000 / median(times);
    const ratio = median(own.map((time, round) => codec[round] / time));
    return { changeBytes, own: speed(own), codec: speed(codec), ratio, peakMib, pauseMsMax };
  });
}

function cut(corpus: Uint8Array, changeBytes: number): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at + changeBytes <= corpus.length; at += changeBytes) {
    const keyGroup = changes.length % KEY_GROUPS;
    changes.push({ keyGroup, data: corpus.subarray(at, at + changeBytes) });
  }
  return changes;
}

/** Appends everything `turns` times, as fast as memory allows, and waits until it is durable. */
async function ingestAll(
  { job, disk }: BenchEngine,
  changes: readonly Change[],
  turns: number,
): Promise<void> {
  const writer = job.writer("ingest", { keyGroups: [0, KEY_GROUPS - 1] });
  const { availability } = job;
  let mark = 0;
  for (let turn = 0; turn < turns; turn++) {
    for (const { keyGroup, data } of changes) {
      if (!availability.isAvailable()) await availability.whenAvailable();
      writer.append(keyGroup, data);
    }
  }
  mark = disk.mark();
  await writer.persist();
  disk.check(mark);
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
