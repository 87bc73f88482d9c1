/** How long it takes to collect many files: the least time of some rounds, in which few and many take turns. @module */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { JobKeys, MAIN_LOG } from "../../src/engine/paths.ts";
import { newUuid } from "../../src/engine/uuid.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { SystemRandom } from "../../src/runtime/system_random.ts";
import { barAtLeast, barAtMost, type BenchBar, type BenchRow } from "./_bench.ts";
import { type BenchEngine, withEngine } from "./_upload_engine.ts";

const FILE_BYTES = 4096;
const DELETES_PER_SECOND = 2000;
/** What is linear takes as many times longer; a quarter of it is left for the machine. */
const LINEAR_MARGIN = 1.25;
const PORTS = { clock: new SystemClock(), random: new SystemRandom() };

/** How much to do. */
export interface CollectSizes {
  /** Files that go in one collection: few, many. */
  readonly files: readonly [number, number];
  readonly rounds: number;
}

/** Measures, every delete durable. */
export function measureCollections(
  { files: [few, many], rounds }: CollectSizes,
): Promise<{ rows: BenchRow[]; bars: BenchBar[] }> {
  return withEngine({}, async (engine) => {
    const { job } = engine;
    await job.resume({ at: "tail" });
    job.writer("writer").append(0, new Uint8Array(1));
    await job.checkpoint();
    await collect(engine, few);
    let fewMs = Infinity;
    let ms = Infinity;
    for (let round = 0; round < rounds; round++) {
      fewMs = Math.min(fewMs, await collect(engine, few));
      ms = Math.min(ms, await collect(engine, many));
    }
    return {
      rows: [{ what: `collection of ${many} files, ms`, measured: ms }],
      bars: [
        barAtMost(
          `collection of ${many} files x one of ${few}`,
          many / few * LINEAR_MARGIN,
          ms / fewMs,
        ),
        barAtLeast("deletes per second", DELETES_PER_SECOND, many / ms * 1000),
      ],
    };
  });
}

/** Makes files of the job's first epoch that nothing needs, and collects them; answers the milliseconds. */
async function collect({ job, folder }: BenchEngine, count: number): Promise<number> {
  const keys = new JobKeys(job.id);
  const bytes = new Uint8Array(FILE_BYTES);
  const pathOf = (number: number): string =>
    join(
      folder,
      "store",
      keys.changeFile({ log: MAIN_LOG, epoch: 1, number, uuid: newUuid(PORTS) }),
    );
  const logFolder = dirname(pathOf(1));
  await mkdir(logFolder, { recursive: true });
  const before = (await readdir(logFolder)).length;
  for (let number = 1; number <= count; number++) await writeFile(pathOf(number), bytes);
  const startMs = performance.now();
  const report = await job.collect({ quarantineMs: 0 });
  const tookMs = performance.now() - startMs;
  const left = (await readdir(logFolder)).length - before;
  if (left !== 0 || report.problems.length > 0) {
    throw new Error(`Cannot collect: ${left} of ${count} files are left`);
  }
  return tookMs;
}
