/**
 * What it costs to commit a checkpoint, to collect, to open a large tail and to restore it, on this machine's disk.
 * @module
 */
import type { BenchOptions, BenchResult } from "./_bench.ts";
import { type CollectSizes, measureCollections } from "./_checkpoint_collect.ts";
import { type CommitSizes, measureCommits } from "./_checkpoint_commit.ts";
import { measureTails, type TailSizes } from "./_checkpoint_tail.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

interface Sizes {
  readonly commit: CommitSizes;
  readonly collect: CollectSizes;
  readonly tail: TailSizes;
}

const FULL: Sizes = {
  commit: {
    pasts: [
      { checkpoints: 10, files: 100 },
      { checkpoints: 975, files: 10_000 },
      { checkpoints: 975, files: 100 },
      { checkpoints: 10, files: 10_000 },
    ],
    changedBytes: 10 * MIB,
    writers: 1000,
    rounds: 11,
  },
  collect: { files: [2500, 10_000], rounds: 5 },
  tail: { changedBytes: [1024 * MIB, 1024 * MIB], setBytes: [MIB, 4 * KIB], rounds: 5 },
};
const CHECK: Sizes = {
  commit: { ...FULL.commit, pasts: FULL.commit.pasts.slice(0, 2), rounds: 11 },
  collect: { ...FULL.collect, rounds: 5 },
  tail: { ...FULL.tail, changedBytes: [1024 * MIB, 128 * MIB], rounds: 2 },
};
const SMOKE: Sizes = {
  commit: {
    pasts: [{ checkpoints: 1, files: 1 }, { checkpoints: 2, files: 2 }],
    changedBytes: 1000,
    writers: 2,
    rounds: 1,
  },
  collect: { files: [1, 2], rounds: 1 },
  tail: { changedBytes: [64 * KIB, 64 * KIB], setBytes: [4 * KIB, KIB], rounds: 1 },
};

/** Runs the bench on this runtime; some two minutes within a check. */
export async function run(options: BenchOptions): Promise<BenchResult> {
  const sizes = options.smoke ? SMOKE : options.check ? CHECK : FULL;
  const parts = [
    await measureCommits(sizes.commit),
    await measureCollections(sizes.collect),
    measureTails(sizes.tail),
  ];
  return {
    title: "Checkpoint: commit, collection, open, restore",
    rows: parts.flatMap(({ rows }) => rows),
    bars: parts.flatMap(({ bars }) => bars),
  };
}
