/**
 * `checkpoint`: makes a checkpoint of a job.
 * @module
 */
import { openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { formatBytes } from "../_format.ts";
import { UsageError } from "../_usage_error.ts";
import { jsonOption, parseUuid, u64Option } from "../_values.ts";
import type { Progress, StateSource } from "../../engine/types.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const CHECKPOINT: Command = {
  name: "checkpoint",
  about: "Make a checkpoint of where every writer stands",
  options: {
    ...OWN_OPTIONS,
    uuid: { type: "string", value: "UUID", about: "its uuid; one that was used before is refused" },
    identifier: { type: "string", value: "NAME", about: "a name for people" },
    steps: { type: "string", value: "N", about: "steps that the pipeline has made" },
    "processed-records": { type: "string", value: "N", about: "records that it has processed" },
    metadata: { type: "string", value: "JSON", about: "JSON of the pipeline, at most 64 KiB" },
    state: {
      type: "string",
      value: "NAME=FILE",
      about: "a state that belongs to it, - for stdin; may be repeated",
      isRepeatable: true,
    },
    "keep-state": {
      type: "string",
      value: "NAME",
      about: "a state as in the newest checkpoint; may be repeated",
      isRepeatable: true,
    },
  },
  sides: BOTH_SIDES,
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const uuid = options.text("uuid");
  const wanted = {
    uuid: uuid === undefined ? undefined : parseUuid("--uuid", uuid),
    identifier: options.text("identifier"),
    steps: u64Option(options, "steps"),
    processedRecords: u64Option(options, "processed-records"),
    metadata: jsonOption(options, "metadata"),
    states: await statesOf(context),
    onProgress: ({ phase, done, total }: Progress) => {
      if (phase !== "persist") return;
      report.progress(() => ({ label: "making durable", done, total, unit: "writer" }));
    },
  };
  await using target = await openTarget(context, "own");
  const made = await target.checkpoint(wanted);
  const name = made.identifier === undefined ? "" : ` (${made.identifier})`;
  const text = `Checkpoint ${made.uuid}${name} of job ${options.required("job")}, ` +
    formatBytes(made.size);
  await report.result(text, made);
  return EXIT_OK;
}

/** States by name; what can't be read is refused before anything is opened. */
async function statesOf(
  { io, options, report }: CommandContext,
): Promise<Record<string, StateSource> | undefined> {
  const states = new Map<string, StateSource>();
  const add = (name: string, source: StateSource): void => {
    if (states.has(name)) throw new UsageError(`Cannot use state ${name}: it is given twice`);
    states.set(name, source);
  };
  for (const text of options.texts("state")) {
    const [, name, path] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (name === undefined) throw new UsageError(`Cannot use --state ${text}: wants NAME=FILE`);
    const total = path === "-" ? undefined : await io.checkFile(path);
    const content = path === "-" ? io.readInput() : io.readFile(path);
    add(name, report.watch(content, { label: `writing state ${name}`, total }));
  }
  for (const name of options.texts("keep-state")) add(name, { from: "latest" });
  return states.size === 0 ? undefined : Object.fromEntries(states);
}
