/** The two sides of a command, `--store` and `--url`: which it has, and what goes with which. */
import type { Command, CommandOption, ParsedOptions, Side } from "./command.ts";
import { UsageError } from "./_usage_error.ts";
import type { Settings } from "./settings/settings.ts";

const SIDES: readonly Side[] = ["store", "url"];

/** Why a command is without a side, for those it lacks. */
export function missingSides({ sides }: Command): (readonly [Side, string])[] {
  return SIDES.flatMap((side) => {
    const reason = sides[side];
    return reason === true ? [] : [[side, reason] as const];
  });
}

/** Refuses an option of a side that the command lacks. @throws {UsageError} */
export function refuseMissingSide(command: Command, option: string): void {
  const reason = missingSides(command).find(([side]) => side === option)?.[1];
  if (reason === undefined) return;
  throw new UsageError(`Cannot ${command.name} with --${option}: ${reason}`, command.name);
}

/** Refuses options that don't go with the side that is given. @throws {UsageError} */
export function checkSide(command: Command, options: ParsedOptions, settings: Settings): void {
  if (command.sides.url !== true || command.sides.store !== true) return;
  const side: Side = settings.sidecar === undefined ? "store" : "url";
  const url = settings.nameOf("url");
  for (const [name, { only }] of Object.entries(command.options)) {
    if (only === undefined || only.side === side || !options.flag(name)) continue;
    const given = side === "url" ? `with ${url}` : "without --url";
    throw new UsageError(`Cannot use --${name} ${given}: ${only.because}`, command.name);
  }
}

/** Lines of the help about the sides that are missing. */
export function sidesInHelp(command: Command): string[] {
  return missingSides(command).map(([side, reason]) => `No --${side}: ${reason}.`);
}

/** What the help says of an option. */
export function aboutOption({ about, only }: CommandOption): string {
  return only === undefined ? about : `${only.side === "url" ? "with" : "without"} --url: ${about}`;
}
