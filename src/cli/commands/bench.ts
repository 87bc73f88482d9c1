/**
 * `bench`: what disk and engine do here, or a sidecar, in a few seconds.
 * @module
 */
import { KIB, MIB } from "../../engine/limits.ts";
import { confirm, requireAssent, YES_OPTION } from "../_confirm.ts";
import { formatBytes } from "../_format.ts";
import { StopRequest } from "../_stop_request.ts";
import { UsageError } from "../_usage_error.ts";
import { countOption, durationOption, formatDuration } from "../_values.ts";
import { openBench, PLACE_OPTIONS } from "../target/open_target.ts";
import type { BenchTarget } from "../target/target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";
import { type BenchFigures, describeFigures } from "./_bench_text.ts";
import { type Load, measureAppends, measureRestore, percentile } from "./_measure.ts";

const TIME_MS = 5000;
const TIME_MS_MAX = 60_000;
const BYTES_MAX = 256 * MIB;
const CHANGE_BYTES = KIB;
const CHANGE_BYTES_MAX = 256 * KIB;
/** What is appended in bulk at a time, and by how many. */
const BULK_BYTES = 256 * KIB;
const BULK_CLIENTS = 8;
const CROWD_CLIENTS = 32;
const PHASES = 5;

/** The command. */
export const BENCH: Command = {
  name: "bench",
  about: "Measure disk and engine of a folder, or a sidecar, for a few seconds",
  options: {
    ...PLACE_OPTIONS,
    time: {
      type: "string",
      value: "TIME",
      about: `how long, at most ${formatDuration(TIME_MS_MAX)} (${formatDuration(TIME_MS)})`,
    },
    "bytes-max": { type: "string", value: "N", about: `bytes that it writes (${BYTES_MAX})` },
    "change-bytes": { type: "string", value: "N", about: `size of a change (${CHANGE_BYTES})` },
    yes: { ...YES_OPTION, only: { side: "url", because: "it leaves nothing in a folder" } },
  },
  sides: BOTH_SIDES,
  notes: [
    "In a folder it makes a store of its own below it, with the settings that serve would have, and",
    "removes it. At a sidecar it makes a job of its own and deletes it; on a terminal it asks before,",
    "elsewhere it wants --yes.",
  ],
  run,
};

/** What a measurement is asked for. */
interface Wish {
  readonly timeMs: number;
  readonly bytesMax: number;
  readonly changeBytes: number;
}

async function run(context: CommandContext): Promise<number> {
  const { io, report, settings } = context;
  const wish = wishOf(context);
  const job = `bench-${crypto.randomUUID()}`;
  if (settings.sidecar !== undefined) {
    requireAssent(context, "bench", undefined, "it writes to a sidecar in use");
    const most = formatBytes(wish.bytesMax);
    await confirm(
      context,
      `Writes up to ${most} to job ${job} of ${settings.sidecar}, and deletes it`,
    );
  }
  const stop = new StopRequest(io);
  try {
    const figures = await measure(context, job, wish, stop);
    const { text, notes } = describeFigures(figures);
    const interrupted = stop.signal === undefined ? {} : { interrupted: stop.signal };
    await report.result(text, { ...figures, notes, ...interrupted });
  } finally {
    stop.ignore();
  }
  return stop.signal === undefined ? EXIT_OK : EXIT_CODE_OF_SIGNAL[stop.signal];
}

/** @throws {UsageError} */
function wishOf({ options }: CommandContext): Wish {
  const timeMs = durationOption(options, "time") ?? TIME_MS;
  if (timeMs === 0 || timeMs > TIME_MS_MAX) {
    throw new UsageError(
      `Cannot use --time ${options.text("time")}: wants more than none, and at most ` +
        formatDuration(TIME_MS_MAX),
    );
  }
  const changeBytes = countOption(options, "change-bytes") ?? CHANGE_BYTES;
  if (changeBytes === 0 || changeBytes > CHANGE_BYTES_MAX) {
    throw new UsageError(
      `Cannot use --change-bytes ${changeBytes}: wants 1 to ${CHANGE_BYTES_MAX}`,
    );
  }
  const bytesMax = countOption(options, "bytes-max") ?? BYTES_MAX;
  if (bytesMax === 0) throw new UsageError("Cannot use --bytes-max 0: wants at least 1");
  return { timeMs, bytesMax, changeBytes };
}

async function measure(
  context: CommandContext,
  job: string,
  wish: Wish,
  stop: StopRequest,
): Promise<BenchFigures> {
  const { report } = context;
  await using bench = await openBench(context, job);
  const { place, target, reader } = bench;
  checkRoom(bench, wish);
  const { changeBytes } = wish;
  let bytesLeft = wish.bytesMax;
  const bounds = (share: number) => ({
    timeMs: wish.timeMs / PHASES,
    bytesMax: Math.ceil(bytesLeft * share),
    monotonicMs: () => context.io.monotonicMs(),
    isStopped: () => stop.signal !== undefined,
  });
  const appends = async (label: string, load: Load, share: number) => {
    report.progress(() => `measuring ${place}: ${label}`);
    const found = await measureAppends(target, load, bounds(share));
    bytesLeft -= found.bytes;
    return found;
  };
  report.progress(() => `measuring ${place}: syncs`);
  const sync = await measureSyncs(context, bench, wish.timeMs / PHASES);
  // In bulk first: so the checkpoint holds nothing else.
  const bulkBytes = Math.min(BULK_BYTES, wish.bytesMax / 4);
  const changes = Math.max(1, Math.floor(bulkBytes / changeBytes));
  const bulk = await appends("in bulk", { clients: BULK_CLIENTS, changes, changeBytes }, 0.5);
  report.progress(() => `measuring ${place}: restore`);
  await target.checkpoint({});
  const restore = await measureRestore(reader, bounds(1));
  const one = await appends("one client", { clients: 1, changes: 1, changeBytes }, 0.5);
  const crowd = { clients: CROWD_CLIENTS, changes: 1, changeBytes };
  const many = await appends(`${CROWD_CLIENTS} clients`, crowd, 1);
  return { place, changeBytes, ...(sync === undefined ? {} : { sync }), one, many, bulk, restore };
}

/** @throws {UsageError} */
function checkRoom({ place, bytesFree }: BenchTarget, { bytesMax }: Wish): void {
  if (bytesFree === undefined || bytesFree >= 2 * bytesMax) return;
  throw new UsageError(
    `Cannot bench ${place}: it has ${formatBytes(bytesFree)} free, wants twice the ` +
      `${formatBytes(bytesMax)} that may be written; give a smaller --bytes-max`,
  );
}

async function measureSyncs(
  { io }: CommandContext,
  { folder }: BenchTarget,
  timeMs: number,
): Promise<BenchFigures["sync"]> {
  if (folder === undefined) return undefined;
  const took: number[] = [];
  const beganMs = io.monotonicMs();
  do took.push(...await io.measureSyncs(folder)); while (io.monotonicMs() - beganMs < timeMs);
  return { syncs: took.length, p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99) };
}
