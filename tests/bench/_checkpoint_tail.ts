/**
 * How fast a large tail is opened and restored, and what memory that takes: each in a process of its own, beside
 * nothing else. A job is made once; its files are in the page cache from then on. What counts is the best of some
 * rounds, since what else runs on the machine only adds to them. Restores are held against CPU time, of all threads:
 * on a machine that does nothing else they take less.
 * @module
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { barAtLeast, barAtMost, type BenchBar, type BenchRow } from "./_bench.ts";
import type { TailFigures, TailLayout, TailTask } from "./_checkpoint_tail_child.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CHILD = fileURLToPath(new URL("./_checkpoint_tail_child.ts", import.meta.url));
const OPEN_SECONDS_MAX = 3;
const MEMORY_MIB_MAX = 256;
const CHANGES_PER_SECOND = 2e6;
/** Blocks at the edges of what is wanted hold something else too. */
const FILTER_MARGIN = 1.25;

/** How much to do. */
export interface TailSizes {
  /** Bytes of changes in the tail where change sets are large, and where they are small. */
  readonly changedBytes: readonly [number, number];
  /** Bytes of a change set where they are large, and where they are small. */
  readonly setBytes: readonly [number, number];
  readonly rounds: number;
}

/** Measures. */
export function measureTails(sizes: TailSizes): { rows: BenchRow[]; bars: BenchBar[] } {
  const { changedBytes, setBytes: [large, small], rounds } = sizes;
  const layouts = [large, small].map((setBytes, i) => (
    { changedBytes: changedBytes[i], setBytes, writers: 16 }
  ));
  const usual = measureLayout(layouts[0], rounds);
  const crowded = measureLayout(layouts[1], 1);
  const { open, restore, filtered } = usual;
  return {
    rows: [
      ...rowsOf(usual, layouts[0]),
      ...rowsOf(crowded, layouts[1]),
    ],
    bars: [
      barAtMost(
        "open of a job with 1 GiB of changes in its tail, s",
        OPEN_SECONDS_MAX,
        open.seconds,
      ),
      barAtMost("peak memory of that process, MiB", MEMORY_MIB_MAX, open.peakMib),
      barAtLeast(
        "restore, changes per second of CPU time",
        CHANGES_PER_SECOND,
        restore.changesPerSecond * restore.seconds / restore.cpuSeconds,
      ),
      barAtMost("peak memory of a process that restores, MiB", MEMORY_MIB_MAX, restore.peakMib),
      barAtMost(
        "1/16 of the key groups, bytes decoded x 1/16",
        FILTER_MARGIN,
        filtered.decodedBytes / restore.decodedBytes * 16,
      ),
    ],
  };
}

interface Measured {
  readonly open: TailFigures;
  readonly restore: TailFigures;
  readonly filtered: TailFigures;
  readonly one: TailFigures;
}

function measureLayout(layout: TailLayout, rounds: number): Measured {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-bench-"));
  try {
    runChild({ kind: "make", layout }, folder);
    const best = (kind: Exclude<TailTask["kind"], "make">): TailFigures => {
      const all = Array.from({ length: rounds }, () => runChild({ kind, layout }, folder));
      return {
        seconds: Math.min(...all.map(({ seconds }) => seconds)),
        cpuSeconds: Math.min(...all.map(({ cpuSeconds }) => cpuSeconds)),
        changesPerSecond: Math.max(...all.map((one) => one.changesPerSecond)),
        peakMib: Math.max(...all.map(({ peakMib }) => peakMib)),
        decodedBytes: all[0].decodedBytes,
      };
    };
    return {
      open: best("open"),
      restore: best("restore"),
      filtered: best("restore-filtered"),
      one: best("restore-one-by-one"),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function rowsOf({ open, restore, filtered, one }: Measured, layout: TailLayout): BenchRow[] {
  const tasks = {
    open,
    restore,
    "restore of 1/16 of the key groups": filtered,
    "restore, one change after another": one,
  };
  return Object.entries(tasks).map(([task, figures]) => ({
    what: `${task}, ${toMib(layout.changedBytes)} MiB in sets of ${layout.setBytes} bytes, s`,
    measured: figures.seconds,
    "s of CPU": figures.cpuSeconds,
    "million changes/s": figures.changesPerSecond / 1e6,
    "peak MiB": Math.round(figures.peakMib),
  }));
}

function toMib(bytes: number): number {
  return bytes / 1024 / 1024;
}

/** Runs a task in a new process of this runtime. */
function runChild(task: TailTask, folder: string): TailFigures {
  const file = join(folder, "figures.json");
  const { status, error } = spawnSync(
    process.execPath,
    [...flagsOfRuntime(), CHILD, folder, file, JSON.stringify(task)],
    { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] },
  );
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`Cannot ${task.kind}: ended with exit code ${status}`);
  return JSON.parse(readFileSync(file, "utf8"));
}

function flagsOfRuntime(): string[] {
  if (process.versions.deno !== undefined) return ["run", "-A", "--quiet"];
  // On Node as this process was begun, so that the same loader reads the sources.
  return process.versions.bun !== undefined ? [] : process.execArgv;
}
