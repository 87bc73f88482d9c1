/**
 * `import`: what `export` wrote, into a job.
 * @module
 */
import { TidemarkError } from "../../engine/errors.ts";
import { checkName } from "../../engine/paths.ts";
import { exportFormatOf } from "../_export_form.ts";
import { firstBytesOf } from "../_first_bytes.ts";
import { formatCount } from "../_format.ts";
import { StopRequest } from "../_stop_request.ts";
import { openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";
import { ChangeImport } from "./_import_changes.ts";

/** The command. */
export const IMPORT: Command = {
  name: "import",
  about: "Append what export wrote: to each writer, at its offsets",
  positional: { name: "FILE", about: "file to read; - or none reads stdin", isRequired: false },
  options: {
    ...OWN_OPTIONS,
    writer: { ...WRITER_OPTION, about: "only this writer of the export", isRequired: false },
    as: { type: "string", value: "WRITER", about: "another name for the one writer" },
    rebase: { type: "boolean", about: "begin at offset 0, wherever a writer began" },
  },
  sides: BOTH_SIDES,
  notes: [
    "It sees by itself which format it is. Makes the store and the job where they are missing. What is",
    "there already is taken once, so that an import that was cut off is repeated; where something else",
    "is there it is refused.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, positionals, report } = context;
  const job = options.required("job");
  const [file = "-"] = positionals;
  // All that can be wrong is looked at before the store is made.
  checkName("job", job);
  for (const name of ["writer", "as"]) {
    if (options.flag(name)) checkName("writer", options.required(name));
  }
  const inputBytes = file === "-" ? undefined : await io.checkFile(file);
  const { first, bytes } = await firstBytesOf(file === "-" ? io.readInput() : io.readFile(file));
  const format = exportFormatOf(first);
  if (format === undefined) {
    throw new TidemarkError(
      "invalid-request",
      `Cannot import ${file === "-" ? "stdin" : file}: it begins like no export of Tidemark`,
      { details: { file } },
    );
  }
  const stop = new StopRequest(io);
  try {
    await using target = await openTarget(context, "append");
    const wish = {
      only: options.text("writer"),
      as: options.text("as"),
      isRebased: options.flag("rebase"),
      inputBytes,
    };
    const importing = new ChangeImport(target, wish, report);
    const lull = () => new Promise<void>(() => {});
    await importing.run(bytes, format, { lull, stopped: stop.requested });
    const { changes, alreadyThere, writers } = importing;
    const there = alreadyThere === 0
      ? ""
      : `, ${formatCount(alreadyThere, "change")} already there`;
    const ends = writers.map(({ writer, nextOffset }) => `${writer} ${nextOffset}`).join(", ");
    const text =
      `Imported ${formatCount(changes - alreadyThere, "change")} to job ${job}${there}, ` +
      `durable; next offsets: ${ends || "none"}`;
    const interrupted = stop.signal === undefined ? {} : { interrupted: stop.signal };
    await report.result(text, { job, changes, alreadyThere, writers, ...interrupted });
  } finally {
    stop.ignore();
  }
  return stop.signal === undefined ? EXIT_OK : EXIT_CODE_OF_SIGNAL[stop.signal];
}
