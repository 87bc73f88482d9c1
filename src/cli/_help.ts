/** Help, made from the commands themselves. */
import { COMMON_OPTIONS } from "./_arguments.ts";
import type { Command, CommandOption } from "./command.ts";
import { EXIT_CODE_OF, EXIT_CODE_OF_SIGNAL } from "./exit_codes.ts";
import { aboutOption, sidesInHelp } from "./_sides.ts";

/** Help of all commands. */
export function helpOfAll(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    "Tidemark keeps the state of data pipelines safe: append, checkpoint, crash, restore.",
    "",
    "Usage: tidemark COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    "",
    "tidemark COMMAND --help explains a command, tidemark --version prints the version.",
    "",
    "Exit codes:",
    "  0  done",
    ...Object.entries(EXIT_CODE_OF).map(([kind, code]) => `  ${code}  ${kind}`),
    ...Object.entries(EXIT_CODE_OF_SIGNAL).map(([signal, code]) => `  ${code}  ended by ${signal}`),
    "",
  ].join("\n");
}

/** Help of one command. */
export function helpOf(command: Command): string {
  const { name, about, positional } = command;
  const notes = [...command.notes ?? [], ...sidesInHelp(command)];
  const options = { ...command.options, ...COMMON_OPTIONS };
  const required = Object.entries(command.options)
    .filter(([, option]) => option.isRequired)
    .map(([optionName, option]) => ` --${optionName} ${option.value ?? "VALUE"}`);
  const rows = Object.entries(options).map((
    [key, option],
  ) => [optionForm(key, option), aboutOption(option)]);
  if (positional !== undefined) rows.unshift([positional.name, positional.about]);
  const width = Math.max(...rows.map(([form]) => form.length));
  const place = positional === undefined
    ? ""
    : positional.isRequired
    ? ` ${positional.name}`
    : ` [${positional.name}]`;
  return [
    about,
    "",
    `Usage: tidemark ${name}${required.join("")} [OPTIONS]${place}`,
    "",
    ...rows.map(([form, text]) => `  ${form.padEnd(width)}  ${text}`),
    ...(notes.length === 0 ? [] : ["", ...notes]),
    "",
  ].join("\n");
}

function optionForm(name: string, option: CommandOption): string {
  const short = option.short === undefined ? "" : `-${option.short}, `;
  const value = option.type === "string" ? ` ${option.value ?? "VALUE"}` : "";
  return `${short}--${name}${value}`;
}
