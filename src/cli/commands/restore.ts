/**
 * `restore`: reads the changes of a writer back.
 * @module
 */
import { scanChangePrefix } from "../../engine/format/change_scan.ts";
import { MIB } from "../../engine/limits.ts";
import type { RestoreTrailer } from "../../engine/types.ts";
import { cutChanges } from "../../http/change_pieces.ts";
import { CHANGE_FORMATS, type ChangeFormat } from "../_input.ts";
import { WRITERS_OF } from "../_output.ts";
import {
  FALLBACK_OPTION,
  openReadStore,
  TARGET_OPTIONS,
  WRITER_OPTION,
} from "../target/open_target.ts";
import { formatBytes, formatCount } from "../_format.ts";
import type { ReadTarget, RestoreWish, TargetRestore } from "../target/target.ts";
import { StopRequest } from "../_stop_request.ts";
import { atOption, choiceOption, countOption, keyGroupsOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";

/** A source that is cut off while it reads has so long to end. */
const RETURN_MS_MAX = 1000;

/** The command. */
export const RESTORE: Command = {
  name: "restore",
  about: "Read the changes of a writer back",
  options: {
    ...TARGET_OPTIONS,
    writer: WRITER_OPTION,
    at: { type: "string", value: "AT", about: "latest (default), tail, or a checkpoint's uuid" },
    from: { type: "string", value: "N", about: "first offset" },
    "key-groups": { type: "string", value: "A-B", about: "key groups to restore (all)" },
    fallback: FALLBACK_OPTION,
    format: { type: "string", value: "FORMAT", about: "lines (default), ndjson or cborseq" },
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      about: "file to write, which appears when it is whole (stdout)",
    },
  },
  sides: BOTH_SIDES,
  notes: [
    "lines writes each change's data and a newline, whatever its key group; use ndjson or cborseq for",
    "data that holds newlines. The restore is whole only if the exit code is 0.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const format = choiceOption(options, "format", CHANGE_FORMATS) ?? "lines";
  const wish = {
    at: atOption(options),
    from: countOption(options, "from"),
    keyGroups: keyGroupsOption(options),
    fallback: options.flag("fallback") || undefined,
  };
  const output = options.text("output") ?? "-";
  const [job, writer] = [options.required("job"), options.required("writer")];
  const stop = new StopRequest(context.io);
  try {
    await using store = await openReadStore(context);
    await using reader = await store.reader(job);
    const total = report.isWatched ? await countOf(reader, writer, wish) : undefined;
    const restore = await reader.restore(writer, wish);
    const copying = { context, restore, format, stop, label: `restoring ${job}/${writer}`, total };
    const trailer = output === "-"
      ? await copy(copying, (bytes) => context.io.writeOutput(bytes))
      : await copyToFile(copying, output);
    if (trailer === undefined) return reportInterrupted(context, stop, output);
    const text = `Restored ${formatCount(trailer.count, "change")} of ${job}/${writer}, ` +
      `${trailer.confirmed} confirmed, hash ${trailer.hash}`;
    if (output !== "-") await report.result(text, { job, writer, ...trailer, output });
    else report.message(text, { job, writer, ...trailer });
  } finally {
    stop.ignore();
  }
  return EXIT_OK;
}

/** How many changes are to come, where that can be told beforehand. */
async function countOf(
  reader: ReadTarget,
  writer: string,
  { at = "latest", from = 0, keyGroups }: RestoreWish,
): Promise<number | undefined> {
  if (keyGroups !== undefined) return undefined;
  const writers = at === "tail"
    ? await reader.writers()
    : (await reader.checkpointDetails(at)).writers;
  const end = writers.find((one) => one.writer === writer)?.nextOffset;
  return end === undefined ? undefined : Math.max(0, end - from);
}

function reportInterrupted({ report }: CommandContext, stop: StopRequest, output: string): number {
  const text = output === "-"
    ? "Interrupted: what was written to stdout is not whole"
    : `Interrupted: ${output} was not written`;
  report.message(text, { interrupted: stop.signal, output });
  return stop.signal === undefined ? EXIT_OK : EXIT_CODE_OF_SIGNAL[stop.signal];
}

/** A restore on its way out. */
interface Copying {
  readonly context: CommandContext;
  readonly restore: TargetRestore;
  readonly format: ChangeFormat;
  readonly stop: StopRequest;
  readonly label: string;
  /** Changes that are to come, where that is known. */
  readonly total?: number;
}

async function copyToFile(copying: Copying, path: string): Promise<RestoreTrailer | undefined> {
  const file = await copying.context.io.createFile(path);
  try {
    const trailer = await copy(copying, (bytes) => file.write(bytes));
    if (trailer !== undefined) await file.commit();
    return trailer;
  } finally {
    await file.discard();
  }
}

/** Copies all of it; a signal ends it before, and then there is no trailer. */
async function copy(
  { context: { io, report }, restore, format, stop, label, total }: Copying,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<RestoreTrailer | undefined> {
  const convert = WRITERS_OF[format];
  const slices = restore.pieces[Symbol.asyncIterator]();
  let [done, bytes] = [0, 0];
  try {
    while (true) {
      // A source or a reader that has paused would hold the end up.
      const next = await Promise.race([slices.next(), stop.requested]);
      if (next === undefined) return undefined;
      if (next.done) break;
      for (const piece of cutChanges(next.value, MIB)) {
        await Promise.race([write(convert(piece)), stop.requested]);
        if (stop.signal !== undefined) return undefined;
        bytes += piece.length;
        // Only a person's eye is worth the count.
        if (report.isWatched) done += scanChangePrefix(piece).count;
        const more = formatBytes(bytes);
        report.progress(() => ({ label, done, total, unit: "change", more }));
      }
    }
  } finally {
    await Promise.race([slices.return?.(), io.sleep(RETURN_MS_MAX)]);
  }
  report.endProgress();
  return await restore.trailer;
}
