/** The whole engine on the machine's disk, with everything counted that the upload bench looks at. @module */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileSystem } from "../../src/engine/port/file_system.ts";
import { SILENT_LOGGER } from "../../src/engine/port/logger.ts";
import type { StoreSettings } from "../../src/engine/settings.ts";
import { PosixBackend } from "../../src/engine/storage/posix_backend.ts";
import type { Job } from "../../src/engine/types.ts";
import { PrometheusMetrics } from "../../src/http/mod.ts";
import { chooseFileSystem } from "../../src/runtime/choose_file_system.ts";
import { openStore } from "../../src/runtime/open_store.ts";
import { systemProcessInfo } from "../../src/runtime/process_info.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { SystemRandom } from "../../src/runtime/system_random.ts";
import { countSyncs, DiskCounts } from "./_counted_disk.ts";

/** An open job, and what is counted of it. */
export interface BenchEngine {
  readonly job: Job;
  readonly folder: string;
  readonly fileSystem: FileSystem;
  readonly disk: DiskCounts;
  /** What a counter stands at, or how many values a histogram has (`…_count`). */
  counted(name: string): number;
}

/** Runs `use` with a job in a new store on disk, which goes afterwards. */
export async function withEngine<Result>(
  settings: Partial<StoreSettings>,
  use: (engine: BenchEngine) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-bench-"));
  const disk = new DiskCounts();
  const fileSystem = countSyncs(chooseFileSystem("auto"), disk);
  const backend = backendOn(fileSystem, join(folder, "store"));
  const metrics = new PrometheusMetrics();
  try {
    await using store = await openStore(backend, { ...settings, metrics });
    const job = await store.job("bench");
    const counted = (name: string): number => countOf(metrics.render(), name);
    return await use({ job, folder, fileSystem, disk, counted });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A backend in a folder. */
export function backendOn(fileSystem: FileSystem, root: string): PosixBackend {
  return new PosixBackend({
    root,
    fileSystem,
    clock: new SystemClock(),
    random: new SystemRandom(),
    process: systemProcessInfo(),
    logger: SILENT_LOGGER,
  });
}

function countOf(text: string, name: string): number {
  const found = new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, "m").exec(text);
  if (found === null) throw new Error(`Cannot find metric ${name}`);
  return Number(found[1]);
}

/** Watches the event loop while `action` runs; answers its longest pause in milliseconds too. */
export async function watchPauses<Result>(
  action: () => Promise<Result>,
): Promise<{ result: Result; pauseMsMax: number }> {
  const intervalMs = 2;
  let pauseMsMax = 0;
  let lastMs = performance.now();
  const look = (): void => {
    const nowMs = performance.now();
    pauseMsMax = Math.max(pauseMsMax, nowMs - lastMs - intervalMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, intervalMs);
  try {
    const result = await action();
    look();
    return { result, pauseMsMax };
  } finally {
    clearInterval(timer);
  }
}
