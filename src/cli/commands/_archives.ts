/** Whole jobs as archives: out to a file or another store, and in from one. */
import { firstBytesOf } from "../_first_bytes.ts";
import { formatBytes, formatCount } from "../_format.ts";
import type { Report } from "../_report.ts";
import type { StopRequest } from "../_stop_request.ts";
import { UsageError } from "../_usage_error.ts";
import { writeOut } from "../_write_out.ts";
import { openOther, openStoreTarget } from "../target/open_target.ts";
import type { StoreTarget } from "../target/target.ts";
import type { CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";

/** A source has so long to end. */
const CLOSE_MS_MAX = 1000;
const MAGIC = "ustar";
const MAGIC_AT = 257;

/** Whether an input begins as a tar file does. */
export function isArchive(first: Uint8Array): boolean {
  const found = first.subarray(MAGIC_AT, MAGIC_AT + MAGIC.length);
  return String.fromCharCode(...found) === MAGIC;
}

/** What is exported, and where to. */
export interface ArchiveWish {
  readonly job: string;
  /** All of it where it is left out. */
  readonly at?: string;
  readonly output: string;
  /** Another store, in place of `output`. */
  readonly to?: { readonly folder?: string; readonly url?: string; readonly job: string };
}

/** Exports a whole job. */
export async function exportArchive(
  context: CommandContext,
  { job, at, output, to }: ArchiveWish,
  stop: StopRequest,
): Promise<number> {
  const { report } = context;
  await using from = await openStoreTarget(context, "read");
  const pieces = archiveOf(from, { job, at, output }, report);
  if (to !== undefined) {
    // Nothing is made for a job that can't be read.
    const peeked = await firstBytesOf(pieces);
    try {
      await using other = await openOther(context, to);
      return await importInto(other, peeked.bytes, { job: to.job, report, stop });
    } finally {
      await Promise.race([peeked.close(), context.io.sleep(CLOSE_MS_MAX)]);
    }
  }
  const written = await writeOut(context, pieces, { output, stop });
  if (written.code !== undefined) return written.code;
  const text = `Exported job ${job} as one archive, ${formatBytes(written.bytes)}`;
  const value = { job, at: at ?? "tail", bytes: written.bytes };
  if (output !== "-") await report.result(text, { ...value, output });
  else report.message(text, value);
  return EXIT_OK;
}

/** The archive, while it shows how far it is. */
async function* archiveOf(
  store: StoreTarget,
  { job, at }: ArchiveWish,
  report: Report,
): AsyncGenerator<Uint8Array, undefined> {
  let total: number | undefined;
  // A sidecar does not say beforehand how much it will be.
  const onProgress = (progress: { total: number }) => total = progress.total;
  let done = 0;
  for await (const piece of store.exportJob(job, { at, onProgress })) {
    yield piece;
    done += piece.length;
    report.progress(() => ({ label: `exporting job ${job}`, done, total, unit: "bytes" }));
  }
}

/** Imports an archive as a new job of the store that the options name. */
export async function importArchive(
  context: CommandContext,
  { job, pieces, inputBytes }: {
    readonly job: string;
    readonly pieces: AsyncIterable<Uint8Array>;
    readonly inputBytes?: number;
  },
  stop: StopRequest,
): Promise<number> {
  const { options, report } = context;
  const foreign = ["writer", "as", "rebase"].find((name) => options.flag(name));
  if (foreign !== undefined) {
    throw new UsageError(`Cannot use --${foreign} with an archive: it holds the whole job`);
  }
  await using store = await openStoreTarget(context, "own", { create: true });
  const label = `importing job ${job}`;
  const watched = report.watch(pieces, { label, total: inputBytes });
  return await importInto(store, watched, { job, report, stop });
}

async function importInto(
  store: StoreTarget,
  pieces: AsyncIterable<Uint8Array>,
  { job, report, stop }: {
    readonly job: string;
    readonly report: Report;
    readonly stop: StopRequest;
  },
): Promise<number> {
  const abort = new AbortController();
  void stop.requested.then(() => abort.abort());
  try {
    const found = await store.importJob(job, pieces, { signal: abort.signal });
    const origin = found.from.job === job ? "" : ` (${found.from.job} where it comes from)`;
    const text = `Imported job ${job}${origin} into ${store.location}: ` +
      `${formatCount(found.checkpoints, "checkpoint")}, ${formatCount(found.objects, "object")}, ` +
      formatBytes(found.bytes);
    await report.result(text, { ...found });
    return EXIT_OK;
  } catch (error) {
    if (stop.signal === undefined) throw error;
    report.message(`Interrupted: job ${job} was not imported`, { interrupted: stop.signal, job });
    return EXIT_CODE_OF_SIGNAL[stop.signal];
  }
}
