/**
 * What it costs to make changes durable: through writer, batching scheduler and POSIX uploader, beside the codec alone,
 * a bare write and sync, and a bare group commit, all on the same disk, in turns. Every acknowledgement is held against
 * the syncs that were made for it.
 * @module
 */
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import type { BenchOptions, BenchResult } from "./_bench.ts";
import { type BatchingSizes, measureBatching } from "./_upload_batching.ts";
import { type IngestSizes, measureIngest } from "./_upload_ingest.ts";
import { type LatencySizes, measureLatency } from "./_upload_latency.ts";
import { measureMemory, type MemorySizes } from "./_upload_memory.ts";

const MIB = 1024 * 1024;

interface Sizes {
  readonly memory: MemorySizes;
  readonly batching: BatchingSizes;
  readonly ingest: IngestSizes;
  readonly latency: LatencySizes;
}

/** 10 GiB go through for the peak of memory, and as many for the speed. */
const FULL: Sizes = {
  memory: { bytes: 5 * 1024 * MIB },
  batching: { writers: 1000, batches: 250 },
  ingest: {
    corpusBytes: 32 * MIB,
    fillBytes: DEFAULT_SETTINGS.inFlightBytesMax,
    turns: 4,
    slices: 41,
  },
  latency: { appends: 400, turns: 50, slices: 8, rounds: 11 },
};
/** 2 GiB go through for the peak of memory. */
const CHECK: Sizes = {
  ...FULL,
  memory: { bytes: 1024 * MIB },
  ingest: { ...FULL.ingest, slices: 11 },
};
const SMOKE: Sizes = {
  memory: { bytes: MIB },
  batching: { writers: 10, batches: 2 },
  ingest: { corpusBytes: MIB, fillBytes: 0, turns: 1, slices: 1 },
  latency: { appends: 3, turns: 2, slices: 1, rounds: 1 },
};

/** Runs the bench on this runtime; some 60 seconds within a check. */
export async function run(options: BenchOptions): Promise<BenchResult> {
  const sizes = options.smoke ? SMOKE : options.check ? CHECK : FULL;
  const parts = [
    await measureMemory(sizes.memory),
    await measureBatching(sizes.batching),
    await measureLatency(sizes.latency),
    await measureIngest(sizes.ingest),
  ];
  return {
    title: "Upload: from append to durable",
    rows: parts.flatMap(({ rows }) => rows),
    bars: parts.flatMap(({ bars }) => bars),
  };
}
