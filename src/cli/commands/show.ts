/**
 * `show`: a checkpoint with all that stands in its manifest.
 * @module
 */
import { toJson } from "../../http/json.ts";
import type { CheckpointDetails } from "../../engine/types.ts";
import { checkpointStates } from "./_checkpoint_states.ts";
import { openReadStore, TARGET_OPTIONS } from "../target/open_target.ts";
import { formatBytes, formatTable } from "../_format.ts";
import { checkpointOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const SHOW: Command = {
  name: "show",
  about: "Show a checkpoint with its writers, files, states and metadata",
  options: {
    ...TARGET_OPTIONS,
    at: { type: "string", value: "AT", about: "latest (default), or a checkpoint's uuid" },
  },
  sides: BOTH_SIDES,
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const at = checkpointOption(options) ?? "latest";
  const job = options.required("job");
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const found = await reader.checkpointDetails(at);
  await report.result(describe(job, found), { job, ...found });
  return EXIT_OK;
}

function describe(job: string, found: CheckpointDetails): string {
  const facts: [string, string | undefined][] = [
    ["identifier", found.identifier],
    ["created", new Date(found.createdAtMs).toISOString()],
    ["epoch, run", `${found.epoch}, ${found.run}`],
    ["parent", found.parent],
    ["fingerprint", String(found.fingerprint)],
    ["steps", found.steps?.toString()],
    ["processed records", found.processedRecords?.toString()],
    ["size", `${formatBytes(found.size)}, shared ones included`],
    ["state", checkpointStates(found)],
    ["pinned", found.pin],
    ["resting since", isoTime(found.quarantinedAtMs)],
    ["metadata", found.metadata === null ? undefined : toJson(found.metadata)],
  ];
  const told = facts.flatMap(([name, value]) => value ? [[`  ${name}`, value]] : []);
  const writers = found.writers.map(({ writer, nextOffset, keyGroups }) => [
    writer,
    String(nextOffset),
    keyGroups.join(" to "),
  ]);
  const files = found.files.map(({ key, length }) => [key, formatBytes(length)]);
  const states = found.states.map(({ name, size, storedBytes }) => [
    name,
    formatBytes(size),
    formatBytes(storedBytes),
  ]);
  return [
    `Checkpoint ${found.uuid} of job ${job}\n${formatTable(told)}`,
    table(["WRITER", "NEXT OFFSET", "KEY GROUPS"], writers, "No writers"),
    table(["FILE", "NEEDED"], files, "No files"),
    ...(states.length === 0 ? [] : [formatTable([["STATE", "SIZE", "STORED"], ...states])]),
  ].join("\n\n");
}

function table(heading: string[], rows: string[][], none: string): string {
  return rows.length === 0 ? none : formatTable([heading, ...rows]);
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
