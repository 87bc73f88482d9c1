/**
 * `checkpoint`: makes a checkpoint of a job.
 * @module
 */
import { openTarget, OWN_OPTIONS } from "./_open_target.ts";
import { formatBytes } from "./_report.ts";
import { jsonOption, u64Option } from "./_values.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT_OK } from "./exit_codes.ts";

/** The command. */
export const CHECKPOINT: Command = {
  name: "checkpoint",
  about: "Make a checkpoint of where every writer stands",
  options: {
    ...OWN_OPTIONS,
    identifier: { type: "string", value: "NAME", about: "a name for people" },
    steps: { type: "string", value: "N", about: "steps that the pipeline has made" },
    "processed-records": { type: "string", value: "N", about: "records that it has processed" },
    metadata: { type: "string", value: "JSON", about: "JSON of the pipeline, at most 64 KiB" },
  },
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const wanted = {
    identifier: options.text("identifier"),
    steps: u64Option(options, "steps"),
    processedRecords: u64Option(options, "processed-records"),
    metadata: jsonOption(options, "metadata"),
  };
  await using target = await openTarget(context, "own");
  const made = await target.checkpoint(wanted);
  const name = made.identifier === undefined ? "" : ` (${made.identifier})`;
  const text = `Checkpoint ${made.uuid}${name} of job ${options.required("job")}, ` +
    formatBytes(made.size);
  await report.result(text, made);
  return EXIT_OK;
}
