/**
 * `restore`: reads the changes of a writer back.
 * @module
 */
import { toLines, toNdjson } from "../engine/format/change_output.ts";
import { MIB } from "../engine/limits.ts";
import type { RestoreTrailer } from "../engine/types.ts";
import { cutChanges } from "../http/change_pieces.ts";
import { CHANGE_FORMATS, type ChangeFormat } from "./_input.ts";
import { FALLBACK_OPTION, openReadStore, TARGET_OPTIONS, WRITER_OPTION } from "./_open_target.ts";
import { formatBytes, formatCount } from "./_report.ts";
import type { TargetRestore } from "./_target.ts";
import { atOption, choiceOption, countOption, keyGroupsOption } from "./_values.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT_OK } from "./exit_codes.ts";

const WRITERS_OF: Readonly<Record<ChangeFormat, (bytes: Uint8Array) => Uint8Array>> = {
  lines: toLines,
  ndjson: toNdjson,
  cborseq: (bytes) => bytes,
};

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
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const restore = await reader.restore(writer, wish);
  const trailer = output === "-"
    ? await copy(context, restore, format, (bytes) => context.io.writeOutput(bytes))
    : await copyToFile(context, restore, format, output);
  const text = `Restored ${formatCount(trailer.count, "change")} of ${job}/${writer}, ` +
    `${trailer.confirmed} confirmed, hash ${trailer.hash}`;
  if (output !== "-") await report.result(text, { job, writer, ...trailer, output });
  else if (!report.isJson) report.note(text);
  return EXIT_OK;
}

async function copyToFile(
  context: CommandContext,
  restore: TargetRestore,
  format: ChangeFormat,
  path: string,
): Promise<RestoreTrailer> {
  const file = await context.io.createFile(path);
  try {
    const trailer = await copy(context, restore, format, (bytes) => file.write(bytes));
    await file.commit();
    return trailer;
  } finally {
    await file.discard();
  }
}

async function copy(
  { report }: CommandContext,
  restore: TargetRestore,
  format: ChangeFormat,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<RestoreTrailer> {
  const convert = WRITERS_OF[format];
  let bytes = 0;
  for await (const slice of restore.pieces) {
    for (const piece of cutChanges(slice, MIB)) {
      await write(convert(piece));
      bytes += piece.length;
      report.progress(() => `${formatBytes(bytes)} restored`);
    }
  }
  report.endProgress();
  return await restore.trailer;
}
