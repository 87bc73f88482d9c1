/**
 * `export`: changes of a job with their places, or the whole job, out of a store.
 * @module
 */
import { checkName } from "../../engine/paths.ts";
import { formatBytes, formatCount } from "../_format.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../_export_form.ts";
import { OUTPUT_OPTION, writeOut } from "../_write_out.ts";
import { StopRequest } from "../_stop_request.ts";
import { openReadStore, TARGET_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { UsageError } from "../_usage_error.ts";
import { atOption, choiceOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext, type ParsedOptions } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { type ArchiveWish, exportArchive } from "./_archives.ts";
import { exportChanges } from "./_export_changes.ts";

/** The command. */
export const EXPORT: Command = {
  name: "export",
  about: "Write the changes of a job with their places, or the whole job as one archive",
  options: {
    ...TARGET_OPTIONS,
    writer: { ...WRITER_OPTION, about: "one writer, in place of all", isRequired: false },
    at: {
      type: "string",
      value: "AT",
      about: "latest (default), tail, or a checkpoint's uuid; of an archive tail",
    },
    format: { type: "string", value: "FORMAT", about: "ndjson (default), cborseq or archive" },
    output: OUTPUT_OPTION,
    "to-store": {
      type: "string",
      value: "DIR",
      about: "folder of another store that takes the whole job, made where it is missing",
    },
    "to-url": { type: "string", value: "URL", about: "a sidecar that takes the whole job" },
    "to-job": { type: "string", value: "JOB", about: "the job's name there (the same)" },
  },
  sides: BOTH_SIDES,
  notes: [
    "import reads it back. An archive is a tar file of all that the job is: of its tail with every",
    "checkpoint, of a checkpoint with that one alone. Changes end in a line that tells a whole export",
    "from one that was cut off. Works beside the job's owner.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options } = context;
  const job = options.required("job");
  const at = atOption(options);
  const output = options.text("output") ?? "-";
  const to = destinationOf(options, job);
  const format = formatOf(options, to !== undefined);
  const stop = new StopRequest(io);
  try {
    if (format === "archive") return await exportArchive(context, { job, at, output, to }, stop);
    return await exportToOutput(context, { job, at: at ?? "latest", output, format }, stop);
  } finally {
    stop.ignore();
  }
}

/** @throws {UsageError} */
function formatOf(options: ParsedOptions, isDirect: boolean): ExportFormat | "archive" {
  const formats = [...EXPORT_FORMATS, "archive"] as const;
  const format = choiceOption(options, "format", formats) ?? (isDirect ? "archive" : "ndjson");
  if (isDirect && format !== "archive") {
    throw new UsageError(
      `Cannot use --format ${format} with --to-store or --to-url: the job goes whole`,
    );
  }
  if (format === "archive" && options.flag("writer")) {
    throw new UsageError("Cannot use --writer with an archive: it holds the whole job");
  }
  return format;
}

/** Another store, where one is named. @throws {UsageError} */
function destinationOf(options: ParsedOptions, job: string): ArchiveWish["to"] {
  const [folder, url] = [options.text("to-store"), options.text("to-url")];
  const name = options.text("to-job");
  if (folder === undefined && url === undefined) {
    if (name === undefined) return undefined;
    throw new UsageError("Cannot use --to-job without --to-store or --to-url");
  }
  if (folder !== undefined && url !== undefined) {
    throw new UsageError("Cannot use --to-store with --to-url: name a folder or a sidecar");
  }
  if (options.flag("output")) {
    throw new UsageError("Cannot use --output with --to-store or --to-url: the job goes there");
  }
  checkName("job", name ?? job);
  return { folder, url, job: name ?? job };
}

async function exportToOutput(
  context: CommandContext,
  { job, at: wanted, format, output }: {
    readonly job: string;
    readonly at: string;
    readonly format: ExportFormat;
    readonly output: string;
  },
  stop: StopRequest,
): Promise<number> {
  const { options, report } = context;
  const wish = { job, writer: options.text("writer"), at: wanted, format };
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const written = await writeOut(context, exportChanges(reader, wish, report), { output, stop });
  if (written.code !== undefined) return written.code;
  const { at, writers } = written.result;
  const changes = writers.reduce((sum, { from, to }) => sum + to - from, 0);
  const text = `Exported ${formatCount(changes, "change")} of ` +
    `${formatCount(writers.length, "writer")} of job ${job}, ${formatBytes(written.bytes)}`;
  const value = { job, at, changes, bytes: written.bytes, writers };
  if (output !== "-") await report.result(text, { ...value, output });
  else report.message(text, value);
  return EXIT_OK;
}
