/**
 * `export`: changes of a job with their places, or the whole job, out of a store.
 * @module
 */
import { formatBytes, formatCount } from "../_format.ts";
import { EXPORT_FORMATS } from "../_export_form.ts";
import { OUTPUT_OPTION, writeOut } from "../_write_out.ts";
import { StopRequest } from "../_stop_request.ts";
import { openReadStore, TARGET_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { atOption, choiceOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { exportChanges } from "./_export_changes.ts";

/** The command. */
export const EXPORT: Command = {
  name: "export",
  about: "Write the changes of a job, with whose they are and their offsets",
  options: {
    ...TARGET_OPTIONS,
    writer: { ...WRITER_OPTION, about: "one writer, in place of all", isRequired: false },
    at: { type: "string", value: "AT", about: "latest (default), tail, or a checkpoint's uuid" },
    format: { type: "string", value: "FORMAT", about: "ndjson (default) or cborseq" },
    output: OUTPUT_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "import reads it back. It ends in a line that tells a whole export from one that was cut off.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.required("job");
  const wish = {
    job,
    writer: options.text("writer"),
    at: atOption(options) ?? "latest",
    format: choiceOption(options, "format", EXPORT_FORMATS) ?? "ndjson",
  };
  const output = options.text("output") ?? "-";
  const stop = new StopRequest(context.io);
  try {
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
  } finally {
    stop.ignore();
  }
  return EXIT_OK;
}
