/**
 * How the time of a commit grows with what a job holds already, and how often it syncs. What counts is the least time
 * of some rounds, in which the jobs take turns: what else runs on the machine only adds to it.
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/runtime/open_store.ts";
import { chooseFileSystem } from "../../src/runtime/choose_file_system.ts";
import type { Job, Store } from "../../src/engine/types.ts";
import { barAtMost, type BenchBar, type BenchRow } from "./_bench.ts";
import { makeCorpus } from "./_corpora.ts";
import { countSyncs, DiskCounts } from "./_counted_disk.ts";
import { backendOn } from "./_upload_engine.ts";

const CHANGE_BYTES = 200;
/** With the head of each. */
const STORED_BYTES = CHANGE_BYTES + 5;
const GROWTH_MAX = 1.5;
/** Besides one for each state object, and one for their folder. */
const SYNCS_MAX = 6;
/** As many as a job may retain. */
const RETAINED = 1000;

/** What a job holds. */
export interface Past {
  /** Retained checkpoints. */
  readonly checkpoints: number;
  /** Live files. All of them are needed by every checkpoint that is measured. */
  readonly files: number;
}

/** How much to do. */
export interface CommitSizes {
  /** What the jobs hold, the least first. */
  readonly pasts: readonly Past[];
  /** Bytes of changes before a commit, as they are before compression. */
  readonly changedBytes: number;
  /** Writers of which each has something to commit. */
  readonly writers: number;
  readonly rounds: number;
}

/** A job with a past. */
interface PastJob {
  readonly what: string;
  readonly store: Store;
  readonly job: Job;
  readonly disk: DiskCounts;
  /** Milliseconds of each commit after many changes. */
  readonly full: number[];
  /** Milliseconds of each commit after one change. */
  readonly bare: number[];
}

/** Measures. */
export async function measureCommits(
  sizes: CommitSizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-bench-"));
  const jobs: PastJob[] = [];
  try {
    for (const past of sizes.pasts) jobs.push(await makePast(folder, past));
    const changes = cut(makeCorpus("json", sizes.changedBytes));
    const syncs = await commitInTurns(jobs, changes, sizes.rounds);
    const syncsOfWriters = await commitOfWriters(jobs[0], sizes.writers);
    return report(jobs, { sizes, syncs, syncsOfWriters });
  } finally {
    for (const { store } of jobs) await store.close();
    await rm(folder, { recursive: true });
  }
}

function cut(corpus: Uint8Array): Uint8Array[] {
  const changes: Uint8Array[] = [];
  for (let i = 0; i < Math.floor(corpus.length / STORED_BYTES); i++) {
    changes.push(corpus.subarray(i * CHANGE_BYTES, (i + 1) * CHANGE_BYTES));
  }
  return changes;
}

/** Makes a job with so many checkpoints and files, without waiting for the disk, and opens it with the defaults. */
async function makePast(
  folder: string,
  { checkpoints, files }: Past,
): Promise<PastJob> {
  const what = `${checkpoints} checkpoints, ${files} files`;
  const disk = new DiskCounts();
  const root = join(folder, `${checkpoints}-${files}`);
  const backend = backendOn(countSyncs(chooseFileSystem("auto"), disk), root);
  disk.isPreparing = true;
  {
    // Every batch ends its file.
    const small = { persistDelayMs: 0, changeFileBytesMax: 1 };
    await using store = await openStore(backend, small);
    const job = await store.job("bench");
    await job.setRetention({ minCount: RETAINED });
    const writer = job.writer("writer-0");
    for (let file = 0; file < files; file++) {
      writer.append(0, new Uint8Array(CHANGE_BYTES));
      await writer.persist();
      if (file < checkpoints - 1) await job.checkpoint();
    }
    for (let more = files; more < checkpoints - 1; more++) await job.checkpoint();
    await job.checkpoint();
  }
  disk.isPreparing = false;
  const store = await openStore(backend, {});
  const job = await store.job("bench");
  // What collects in passing does so now.
  await job.collect();
  return { what, store, job, disk, full: [], bare: [] };
}

/** Commits in each job in turn; answers the most syncs of a commit. */
async function commitInTurns(
  jobs: readonly PastJob[],
  changes: readonly Uint8Array[],
  rounds: number,
): Promise<number> {
  let syncsMax = 0;
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < jobs.length; turn++) {
      const { job, disk, full, bare } = jobs[(round + turn) % jobs.length];
      const writer = job.writer("writer-0");
      changes.forEach((change, i) => writer.append(i % 128, change));
      const before = countAll(disk);
      full.push(await timed(job));
      syncsMax = Math.max(syncsMax, countAll(disk) - before);
      writer.append(0, changes[0]);
      bare.push(await timed(job));
    }
  }
  return syncsMax;
}

/** Commits a change of each of many writers; answers the syncs. */
async function commitOfWriters({ job, disk }: PastJob, writers: number): Promise<number> {
  for (let i = 0; i < writers; i++) {
    job.writer(`writer-${i}`).append(i, new Uint8Array(CHANGE_BYTES));
  }
  const before = countAll(disk);
  await timed(job);
  return countAll(disk) - before;
}

/** Syncs that somebody waited for. */
function countAll({ syncsBegun, syncsEarly, folderSyncs }: DiskCounts): number {
  return syncsBegun - syncsEarly + folderSyncs;
}

/** Commits; what the job does after the answer is waited for, but not measured. */
async function timed(job: Job): Promise<number> {
  const startMs = performance.now();
  await job.checkpoint();
  const tookMs = performance.now() - startMs;
  await job.setRetention({ minCount: RETAINED });
  return tookMs;
}

function report(
  jobs: readonly PastJob[],
  { sizes, syncs, syncsOfWriters }: {
    sizes: CommitSizes;
    syncs: number;
    syncsOfWriters: number;
  },
): { rows: BenchRow[]; bars: BenchBar[] } {
  const least = jobs[0];
  const growth = (kind: "full" | "bare", job: PastJob): number =>
    Math.min(...job[kind]) / Math.min(...least[kind]);
  const amount = `${sizes.changedBytes / 1024 / 1024} MiB of changes`;
  const rows = jobs.flatMap((job) => [
    { what: `commit after ${amount}, ${job.what}, ms`, measured: Math.min(...job.full) },
    { what: `commit after one change, ${job.what}, ms`, measured: Math.min(...job.bare) },
  ]);
  const grown = Math.max(...jobs.slice(1).map((job) => growth("full", job)));
  return {
    rows,
    bars: [
      barAtMost(`commit after ${amount}, most and least past`, GROWTH_MAX, grown),
      barAtMost(`syncs that a commit after ${amount} waits for`, SYNCS_MAX, syncs),
      barAtMost(
        `syncs that a commit of ${sizes.writers} writers waits for`,
        SYNCS_MAX,
        syncsOfWriters,
      ),
    ],
  };
}
