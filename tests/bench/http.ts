/**
 * What an append over HTTP costs the sidecar: CPU time per request beside that of an empty Hono route that reads the
 * same bodies, and beside what the engine has to do with the same bytes (scan, checksums, LZ4) without sockets and disk. Then
 * how long answers take at half of the load that it can bear. Each in a process of its own, in turns, on the machine's
 * disk; the load comes from a process on raw sockets.
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchOptions, BenchResult } from "./_bench.ts";
import { type AppendSizes, measureAppends } from "./_http_appends.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

const FULL: AppendSizes = {
  connections: 32,
  corpusBytes: 16 * MIB,
  // So many batches run before the compilers of the runtimes are done with what is called once for each.
  warmUpRounds: 24,
  rounds: 7,
  bodies: [
    { name: "1 KiB", bytes: KIB, requests: 6000, openSeconds: 2, bar: 2 },
    { name: "64 KiB", bytes: 64 * KIB, requests: 1200, openSeconds: 2, bar: 1.3 },
    { name: "1 MiB", bytes: MIB, requests: 128, openSeconds: 3, bar: 1.3 },
  ],
};
const SMOKE: AppendSizes = {
  connections: 2,
  corpusBytes: 64 * KIB,
  warmUpRounds: 0,
  rounds: 1,
  bodies: [{ name: "1 KiB", bytes: KIB, requests: 4, openSeconds: 0.01, bar: 2 }],
};

/** Runs the bench on this runtime; some 100 seconds. */
export async function run(options: BenchOptions): Promise<BenchResult> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-bench-"));
  try {
    const { rows, bars } = await measureAppends(folder, options.smoke ? SMOKE : FULL);
    return { title: "HTTP: what appends cost the sidecar", rows, bars };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
