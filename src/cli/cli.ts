/**
 * The command line: finds the command, runs it, turns errors into exit codes.
 *
 * Owns: the table of commands, help, version.
 * Does not own: what a command does (`commands/`, one file each), the process (`src/runtime/cli_io.ts`).
 * @module
 */
import { openStore } from "../runtime/open_store.ts";
import { BrokenPipeError, type CliIo } from "../runtime/cli_io.ts";
import { parseArguments } from "./_arguments.ts";
import { reportError } from "./_errors.ts";
import { helpOf, helpOfAll } from "./_help.ts";
import { Report } from "./_report.ts";
import { checkSide } from "./_sides.ts";
import { suggest } from "./_suggest.ts";
import { UsageError } from "./_usage_error.ts";
import { versionFacts, versionText } from "./_version.ts";
import { readSettings } from "./settings/settings.ts";
import { APPEND } from "./commands/append.ts";
import { BENCH } from "./commands/bench.ts";
import { CHECKPOINT } from "./commands/checkpoint.ts";
import type { Command, OpenStore } from "./command.ts";
import { CONFIG } from "./commands/config.ts";
import { DELETE } from "./commands/delete.ts";
import { DELETE_JOB } from "./commands/delete_job.ts";
import { DOCTOR } from "./commands/doctor.ts";
import { DU } from "./commands/du.ts";
import { EXIT_OK } from "./exit_codes.ts";
import { EXPORT } from "./commands/export.ts";
import { GC } from "./commands/gc.ts";
import { IMPORT } from "./commands/import.ts";
import { INSPECT } from "./commands/inspect.ts";
import { LS } from "./commands/ls.ts";
import { PIN } from "./commands/pin.ts";
import { RESTORE } from "./commands/restore.ts";
import { RESUME } from "./commands/resume.ts";
import { RETENTION } from "./commands/retention.ts";
import { SALVAGE } from "./commands/salvage.ts";
import { RETIRE } from "./commands/retire.ts";
import { SERVE } from "./commands/serve.ts";
import { SHOW } from "./commands/show.ts";
import { STATUS } from "./commands/status.ts";
import { STATE } from "./commands/state.ts";
import { TAIL } from "./commands/tail.ts";
import { TRUNCATE } from "./commands/truncate.ts";
import { UNPIN } from "./commands/unpin.ts";
import { VERIFY } from "./commands/verify.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  SERVE,
  APPEND,
  CHECKPOINT,
  STATUS,
  LS,
  SHOW,
  RESTORE,
  TAIL,
  STATE,
  EXPORT,
  IMPORT,
  RESUME,
  RETIRE,
  TRUNCATE,
  VERIFY,
  DU,
  RETENTION,
  PIN,
  UNPIN,
  DELETE,
  DELETE_JOB,
  GC,
  SALVAGE,
  INSPECT,
  BENCH,
  CONFIG,
  DOCTOR,
];

/**
 * Runs one command line.
 *
 * @param args What follows the program's name.
 * @param io The process it runs in.
 * @param open Opens stores; the runtime's own by default.
 * @returns The exit code.
 */
export async function main(
  args: readonly string[],
  io: CliIo,
  open: OpenStore = openStore,
): Promise<number> {
  const report = new Report(io, args.includes("--json"));
  try {
    return await dispatch(args, io, report, open);
  } catch (error) {
    // Nobody reads the output any more, as after `| head`: there is nothing left to do, and nobody
    // to tell.
    if (error instanceof BrokenPipeError) return EXIT_OK;
    return reportError(report, error);
  } finally {
    report.endProgress();
  }
}

async function dispatch(
  args: readonly string[],
  io: CliIo,
  report: Report,
  open: OpenStore,
): Promise<number> {
  const print = async (text: string): Promise<number> => {
    await io.writeOutput(new TextEncoder().encode(text));
    return EXIT_OK;
  };
  const [name, ...rest] = args;
  if (name === "--version" || name === "-V") {
    await report.announce(versionText(), versionFacts());
    return EXIT_OK;
  }
  if (name === "--help" || name === "-h") return await print(helpOfAll(COMMANDS));
  if (name === "help" && rest.length > 0) return await print(helpOf(findCommand(rest[0])));
  if (name === "help") return await print(helpOfAll(COMMANDS));
  if (name === undefined) {
    report.note(helpOfAll(COMMANDS));
    throw new UsageError("Cannot do anything: no command is given");
  }
  const command = findCommand(name);
  const { options, positionals } = parseArguments(command, rest);
  if (options.flag("help")) return await print(helpOf(command));
  try {
    const settings = await readSettings(command, options, io);
    checkSide(command, options, settings);
    return await command.run({ io, report, options, settings, positionals, openStore: open });
  } catch (error) {
    // What a value should be stands in the help of its command.
    if (!(error instanceof UsageError) || error.command !== undefined) throw error;
    throw new UsageError(error.message, command.name);
  }
}

function findCommand(name: string): Command {
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const meant = suggest(name, COMMANDS.map((candidate) => candidate.name));
  throw new UsageError(
    `Cannot ${name}: there is no such command${
      meant === undefined ? "" : `; did you mean ${meant}?`
    }`,
  );
}
