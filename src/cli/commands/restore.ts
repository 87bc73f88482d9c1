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
import { OUTPUT_OPTION, writeOut } from "../_write_out.ts";
import { atOption, choiceOption, countOption, keyGroupsOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

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
    output: OUTPUT_OPTION,
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
    const showing = { format, label: `restoring ${job}/${writer}`, total };
    const source = converted(context, restore, showing);
    const written = await writeOut(context, source, { output, stop });
    if (written.code !== undefined) return written.code;
    const trailer = written.result;
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
  { at = "latest", from = 0, keyGroups, fallback }: RestoreWish,
): Promise<number | undefined> {
  // Of one that may not be readable nothing is told yet.
  if (keyGroups !== undefined || fallback === true) return undefined;
  const writers = at === "tail"
    ? await reader.writers()
    : (await reader.checkpointDetails(at)).writers;
  const end = writers.find((one) => one.writer === writer)?.nextOffset;
  return end === undefined ? undefined : Math.max(0, end - from);
}

/** The changes as they are written; answers what the restore ends with. */
async function* converted(
  { report }: CommandContext,
  restore: TargetRestore,
  { format, label, total }: {
    readonly format: ChangeFormat;
    readonly label: string;
    readonly total?: number;
  },
): AsyncGenerator<Uint8Array, RestoreTrailer> {
  const convert = WRITERS_OF[format];
  let [done, bytes] = [0, 0];
  for await (const slice of restore.pieces) {
    for (const piece of cutChanges(slice, MIB)) {
      yield convert(piece);
      bytes += piece.length;
      // Only a person's eye is worth the count.
      if (report.isWatched) done += scanChangePrefix(piece).count;
      const more = formatBytes(bytes);
      report.progress(() => ({ label, done, total, unit: "change", more }));
    }
  }
  return await restore.trailer;
}
