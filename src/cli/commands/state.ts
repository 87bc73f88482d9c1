/**
 * `state`: reads a state of a checkpoint back.
 * @module
 */
import { openReadStore, TARGET_OPTIONS } from "../target/open_target.ts";
import { formatBytes } from "../_format.ts";
import { checkpointOption } from "../_values.ts";
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
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      about: "file to write, which appears when it is whole (stdout)",
    },
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
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const total = report.isWatched ? await sizeOf(reader, name, at) : undefined;
  const content = report.watch(reader.readState(name, at), {
    label: `reading state ${name}`,
    total,
  });
  const size = output === "-"
    ? await copy(content, (bytes) => io.writeOutput(bytes))
    : await copyToFile(context, content, output);
  const text = `Read state ${name} of job ${job}, ${formatBytes(size)}`;
  if (output !== "-") await report.result(text, { job, name, size, output });
  else report.message(text, { job, name, size });
  return EXIT_OK;
}

async function sizeOf(reader: ReadTarget, name: string, at: At): Promise<number | undefined> {
  const { states } = await reader.checkpointDetails(at);
  return states.find((state) => state.name === name)?.size;
}

async function copyToFile(
  { io }: CommandContext,
  content: AsyncIterable<Uint8Array>,
  path: string,
): Promise<number> {
  const file = await io.createFile(path);
  try {
    const size = await copy(content, (bytes) => file.write(bytes));
    await file.commit();
    return size;
  } finally {
    await file.discard();
  }
}

async function copy(
  content: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<number> {
  let size = 0;
  for await (const piece of content) {
    await write(piece);
    size += piece.length;
  }
  return size;
}
