/**
 * One task on a large tail, in this process: `_checkpoint_tail_child.ts FOLDER FILE TASK`; what was measured goes to
 * the file.
 * @module
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Job } from "../../src/engine/types.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { Codec } from "../../wasm/mod.ts";
import { makeCorpus } from "./_corpora.ts";
import { processPeakMib } from "./_peak_memory.ts";

const MIB = 1024 * 1024;
const CHANGE_BYTES = 200;
const KEY_GROUPS = 128;
const JOB = "bench";
/** Change sets that are persisted before anybody waits. */
const SETS_AT_ONCE = 2000;

/** How the changes of a tail lie. */
export interface TailLayout {
  readonly changedBytes: number;
  readonly setBytes: number;
  /** Each has as many key groups; they take turns. */
  readonly writers: number;
}

/** What to do. */
export interface TailTask {
  readonly kind: "make" | "open" | "restore" | "restore-filtered" | "restore-one-by-one";
  readonly layout: TailLayout;
}

/** What it took. */
export interface TailFigures {
  readonly seconds: number;
  /** Of all threads: what else runs on the machine does not add to it. */
  readonly cpuSeconds: number;
  readonly changesPerSecond: number;
  readonly peakMib: number;
  readonly decodedBytes: number;
}

/** Bytes that were decompressed. */
let decodedBytes = 0;
const { decompress } = Codec.prototype;
Codec.prototype.decompress = function (...args): number {
  const length = decompress.apply(this, args);
  decodedBytes += length;
  return length;
};

const [folder, file, task] = process.argv.slice(2);
const { kind, layout } = JSON.parse(task) as TailTask;
const root = join(folder, "store");

async function make({ changedBytes, setBytes, writers }: TailLayout): Promise<void> {
  await using store = await openStore(root, { persistDelayMs: 0 });
  const job = await store.job(JOB);
  const corpus = makeCorpus("json", 16 * MIB);
  const groups = KEY_GROUPS / writers;
  const count = Math.floor(changedBytes / CHANGE_BYTES);
  const perSet = Math.max(1, Math.floor(setBytes / CHANGE_BYTES));
  const persists: Promise<unknown>[] = [];
  for (let i = 0, at = 0; i < count; i++, at += CHANGE_BYTES) {
    if (!job.availability.isAvailable()) await job.availability.whenAvailable();
    if (at + CHANGE_BYTES > corpus.length) at = 0;
    const number = Math.floor(i / perSet) % writers;
    const first = number * groups;
    const writer = job.writer(`writer-${number}`, { keyGroups: [first, first + groups - 1] });
    writer.append(first + i % groups, corpus.subarray(at, at + CHANGE_BYTES));
    if (i % perSet === perSet - 1) persists.push(writer.persist());
    if (persists.length === SETS_AT_ONCE) await Promise.all(persists.splice(0));
  }
  await Promise.all(persists);
}

/** Reads everything, or what a filter lets through; answers how many changes there were. */
async function read(job: Job): Promise<number> {
  const keyGroups = kind === "restore-filtered" ? [0, KEY_GROUPS / 16 - 1] as const : undefined;
  const stream = job.restore({ at: "tail", keyGroups });
  let count = 0;
  if (kind === "restore-one-by-one") {
    for await (const { data } of stream) count += data.length === CHANGE_BYTES ? 1 : 0;
  } else {
    for await (const slice of stream.slices()) count += slice.count;
  }
  const trailer = await stream.trailer;
  if (trailer.count !== count) throw new Error(`Cannot restore: ${count} of ${trailer.count}`);
  return count;
}

/** Times an action; answers what it took, as far as it goes for any. */
async function timed(action: () => Promise<number>): Promise<TailFigures> {
  decodedBytes = 0;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const count = await action();
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = (user + system) / 1e6;
  const changesPerSecond = count / seconds;
  return { seconds, cpuSeconds, changesPerSecond, peakMib: processPeakMib(), decodedBytes };
}

async function measure(): Promise<TailFigures> {
  await using store = await openStore(root);
  let job: Job | undefined;
  const opened = await timed(async () => {
    job = await store.job(JOB);
    return job.recovery.adoptedChanges;
  });
  return kind === "open" ? opened : await timed(() => read(job!));
}

if (kind === "make") await make(layout);
writeFileSync(file, JSON.stringify(kind === "make" ? {} : await measure()));
