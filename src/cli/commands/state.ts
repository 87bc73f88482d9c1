/**
 * `state`: reads a state of a checkpoint back.
 * @module
 */
import { openReadStore, TARGET_OPTIONS } from "../target/open_target.ts";
import { formatBytes } from "../_format.ts";
import { checkpointOption } from "../_values.ts";
import { StopRequest } from "../_stop_request.ts";
import { OUTPUT_OPTION, writeOut } from "../_write_out.ts";
import type { At } from "../../engine/types.ts";
import type { ReadTarget } from "../target/target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const STATE: Command = {
  name: "state",
  about: "Read a state of a checkpoint back",
  positional: { name: "NAME", about: "which state; show lists them", isRequired: true },
  options: {
    ...TARGET_OPTIONS,
    at: { type: "string", value: "AT", about: "latest (default), or a checkpoint's uuid" },
    output: OUTPUT_OPTION,
  },
  sides: BOTH_SIDES,
  notes: ["What was written to stdout is whole only if the exit code is 0."],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, report, positionals: [name] } = context;
  const at = checkpointOption(options) ?? "latest";
  const output = options.text("output") ?? "-";
  const job = options.required("job");
  const stop = new StopRequest(io);
  try {
    await using store = await openReadStore(context);
    await using reader = await store.reader(job);
    const total = report.isWatched ? await sizeOf(reader, name, at) : undefined;
    const label = `reading state ${name}`;
    const content = report.watch(reader.readState(name, at), { label, total });
    const written = await writeOut(context, content, { output, stop });
    if (written.code !== undefined) return written.code;
    const text = `Read state ${name} of job ${job}, ${formatBytes(written.bytes)}`;
    if (output !== "-") await report.result(text, { job, name, size: written.bytes, output });
    else report.message(text, { job, name, size: written.bytes });
  } finally {
    stop.ignore();
  }
  return EXIT_OK;
}

async function sizeOf(reader: ReadTarget, name: string, at: At): Promise<number | undefined> {
  const { states } = await reader.checkpointDetails(at);
  return states.find((state) => state.name === name)?.size;
}
