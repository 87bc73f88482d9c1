/**
 * `import`: what `export` wrote, into a job.
 * @module
 */
import { TidemarkError } from "../../engine/errors.ts";
import { checkName } from "../../engine/paths.ts";
import { type ExportFormat, exportFormatOf } from "../_export_form.ts";
import { firstBytesOf } from "../_first_bytes.ts";
import { formatCount } from "../_format.ts";
import { StopRequest } from "../_stop_request.ts";
import { openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";
import { importArchive, isArchive } from "./_archives.ts";
import { ChangeImport } from "./_import_changes.ts";

/** An input has so long to end. */
const CLOSE_MS_MAX = 1000;

/** The command. */
export const IMPORT: Command = {
  name: "import",
  about: "Take what export wrote: changes at their offsets, or a whole job",
  positional: { name: "FILE", about: "file to read; - or none reads stdin", isRequired: false },
  options: {
    ...OWN_OPTIONS,
    writer: { ...WRITER_OPTION, about: "only this writer of the export", isRequired: false },
    as: { type: "string", value: "WRITER", about: "another name for the one writer" },
    rebase: { type: "boolean", about: "begin at offset 0, wherever a writer began" },
  },
  sides: BOTH_SIDES,
  notes: [
    "It sees by itself what the input is, and makes the store and the job where they are missing. Changes",
    "that are there already are taken once, so that an import that was cut off is repeated; where",
    "something else is there they are refused. An archive becomes a job, of a name that is free.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, positionals } = context;
  const job = options.required("job");
  const [file = "-"] = positionals;
  // All that can be wrong is looked at before the store is made.
  checkName("job", job);
  for (const name of ["writer", "as"]) {
    if (options.flag(name)) checkName("writer", options.required(name));
  }
  const inputBytes = file === "-" ? undefined : await io.checkFile(file);
  const input = file === "-" ? io.readInput() : io.readFile(file);
  const { first, bytes: pieces, close } = await firstBytesOf(input);
  const format = exportFormatOf(first);
  const stop = new StopRequest(io);
  try {
    if (isArchive(first)) return await importArchive(context, { job, pieces, inputBytes }, stop);
    if (format !== undefined) {
      return await importChanges(context, { job, pieces, inputBytes, format }, stop);
    }
  } finally {
    stop.ignore();
    // An input that has paused does not end before its next piece.
    await Promise.race([close(), io.sleep(CLOSE_MS_MAX)]);
  }
  throw new TidemarkError(
    "invalid-request",
    `Cannot import ${file === "-" ? "stdin" : file}: it begins like no export of Tidemark`,
    { details: { file } },
  );
}

async function importChanges(
  context: CommandContext,
  { job, pieces, inputBytes, format }: {
    readonly job: string;
    readonly pieces: AsyncIterable<Uint8Array>;
    readonly inputBytes?: number;
    readonly format: ExportFormat;
  },
  stop: StopRequest,
): Promise<number> {
  const { options, report } = context;
  await using target = await openTarget(context, "append");
  const wish = {
    only: options.text("writer"),
    as: options.text("as"),
    isRebased: options.flag("rebase"),
    inputBytes,
  };
  const importing = new ChangeImport(target, wish, report);
  const lull = () => new Promise<void>(() => {});
  await importing.run(pieces, format, { lull, stopped: stop.requested });
  const { changes, alreadyThere, writers } = importing;
  const there = alreadyThere === 0 ? "" : `, ${formatCount(alreadyThere, "change")} already there`;
  const ends = writers.map(({ writer, nextOffset }) => `${writer} ${nextOffset}`).join(", ");
  const text = `Imported ${formatCount(changes - alreadyThere, "change")} to job ${job}${there}, ` +
    `durable; next offsets: ${ends || "none"}`;
  const interrupted = stop.signal === undefined ? {} : { interrupted: stop.signal };
  await report.result(text, { job, changes, alreadyThere, writers, ...interrupted });
  return stop.signal === undefined ? EXIT_OK : EXIT_CODE_OF_SIGNAL[stop.signal];
}
