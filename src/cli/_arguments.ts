/** Arguments of a command, checked against its options. */
import { type ArgumentToken, tokenizeArguments } from "../runtime/arguments.ts";
import type { Command, CommandOption, ParsedOptions } from "./command.ts";
import { refuseMissingSide } from "./_sides.ts";
import { suggest } from "./_suggest.ts";
import { UsageError } from "./_usage_error.ts";
import { optionsOf as optionsOfSettings } from "./settings/settings.ts";

/** Options that every command has. */
export const COMMON_OPTIONS: Readonly<Record<string, CommandOption>> = {
  ...optionsOfSettings(["config"]),
  json: { type: "boolean", about: "results and errors as JSON" },
  help: { type: "boolean", short: "h", about: "this help" },
};

/** Arguments, understood. */
export interface ParsedArguments {
  readonly options: ParsedOptions;
  readonly positionals: readonly string[];
}

/** Reads the arguments that follow a command's name. @throws {UsageError} */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const known = { ...command.options, ...COMMON_OPTIONS };
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokenizeArguments(args, known)) {
    if (token.kind === "positional") positionals.push(token.value);
    else takeOption(command, known, token, given);
  }
  const isHelp = given.has("help");
  if (!isHelp) checkWhole(command, given, positionals);
  return { positionals, options: optionsOf(given) };
}

function takeOption(
  command: Command,
  known: Readonly<Record<string, CommandOption>>,
  token: ArgumentToken & { kind: "option" },
  given: Map<string, string[]>,
): void {
  const { name, rawName, value } = token;
  const refuse = (reason: string): never => {
    throw new UsageError(`Cannot use ${rawName}: ${reason}`, command.name);
  };
  if (!Object.hasOwn(known, name)) {
    refuseMissingSide(command, name);
    const meant = suggest(name, Object.keys(known));
    refuse(`${command.name} has no such option${meant ? `; did you mean --${meant}?` : ""}`);
  }
  const { type, value: placeholder = "VALUE", isRepeatable = false } = known[name];
  if (given.has(name) && !isRepeatable) refuse("it is given twice");
  if (type === "boolean" && value !== undefined) refuse("it takes no value");
  if (type === "string" && (value === undefined || value === "")) {
    refuse(`it needs a value: ${rawName} ${placeholder}`);
  }
  const texts = type === "boolean" ? [] : [value ?? ""];
  given.set(name, [...given.get(name) ?? [], ...texts]);
}

function checkWhole(
  command: Command,
  given: ReadonlyMap<string, unknown>,
  positionals: readonly string[],
): void {
  for (const [name, option] of Object.entries(command.options)) {
    if (!option.isRequired || given.has(name)) continue;
    throw new UsageError(
      `Cannot ${command.name}: --${name} ${option.value ?? "VALUE"} is missing`,
      command.name,
    );
  }
  const { positional } = command;
  if (positionals.length > (positional === undefined ? 0 : 1)) {
    const surplus = positionals[positional === undefined ? 0 : 1];
    throw new UsageError(
      `Cannot use ${JSON.stringify(surplus)}: ${command.name} takes ` +
        (positional === undefined ? "options only" : `one ${positional.name}`),
      command.name,
    );
  }
  if (positional?.isRequired && positionals.length === 0) {
    throw new UsageError(`Cannot ${command.name}: ${positional.name} is missing`, command.name);
  }
}

function optionsOf(given: ReadonlyMap<string, readonly string[]>): ParsedOptions {
  const texts = (name: string): readonly string[] => given.get(name) ?? [];
  const text = (name: string): string | undefined => texts(name)[0];
  return {
    text,
    texts,
    required(name) {
      const value = text(name);
      if (value === undefined) throw new RangeError(`Option ${name} is not declared as required`);
      return value;
    },
    flag: (name) => given.has(name),
  };
}
