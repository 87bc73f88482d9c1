/** How much memory a process takes while changes go through as fast as they can. @module */
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import { barAtMost, type BenchBar, type BenchRow } from "./_bench.ts";
import { makeCorpus } from "./_corpora.ts";
import { watchPeakMemory } from "./_peak_memory.ts";
import { withEngine } from "./_upload_engine.ts";
import { appendAll, cut, SIZES } from "./_upload_ingest.ts";

const MIB = 1024 * 1024;
/** Data of the bench's own, gone through again and again. */
const CORPUS_BYTES = MIB;
/** Memory besides what is in flight. */
const OTHER_MIB_MAX = 128;

/** How much to do. */
export interface MemorySizes {
  /** Bytes that go through, for each size of changes. */
  readonly bytes: number;
}

/** Measures what is taken above what the process began with. To be run first, before others leave memory behind. */
export async function measureMemory(
  { bytes }: MemorySizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  const corpus = makeCorpus("json", CORPUS_BYTES);
  const memory = watchPeakMemory();
  for (const changeBytes of SIZES) {
    const changes = cut(corpus, changeBytes);
    await withEngine({}, async (engine) => {
      await appendAll(engine, changes, Math.ceil(bytes / CORPUS_BYTES));
      await engine.job.writer("ingest").persist();
    });
  }
  const limitMib = DEFAULT_SETTINGS.inFlightBytesMax / MIB + OTHER_MIB_MAX;
  return { rows: [], bars: [barAtMost("peak memory of ingest, MiB", limitMib, memory.end())] };
}
