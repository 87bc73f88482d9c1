/** Values of options, checked. */
import { U64_MAX } from "../engine/limits.ts";
import type { KeyGroupRange } from "../engine/types.ts";
import { UUID } from "../engine/uuid.ts";
import type { Command, ParsedOptions } from "./command.ts";
import { UsageError } from "./_usage_error.ts";

const MS_OF_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A whole number from 0 to 2^53 - 1. */
export function countOption(options: ParsedOptions, name: string): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UsageError(`Cannot use --${name} ${text}: wants a whole number from 0 to 2^53 - 1`);
}

/** A whole number from 0 to 2^64 - 1. */
export function u64Option(options: ParsedOptions, name: string): bigint | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : parseU64(name, text);
}

/** Whole numbers from 0 to 2^64 - 1, with commas between them. */
export function u64ListOption(options: ParsedOptions, name: string): bigint[] | undefined {
  return options.text(name)?.split(",").map((part) => parseU64(name, part.trim()));
}

function parseU64(name: string, text: string): bigint {
  if (/^[0-9]{1,20}$/.test(text) && BigInt(text) <= U64_MAX) return BigInt(text);
  throw new UsageError(`Cannot use --${name} ${text}: wants a whole number from 0 to 2^64 - 1`);
}

/** One of some words. */
export function choiceOption<Choice extends string>(
  options: ParsedOptions,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`Cannot use --${name} ${text}: wants ${choices.join(", ")}`);
}

/** JSON of any kind. */
export function jsonOption(options: ParsedOptions, name: string): unknown {
  const text = options.text(name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(`Cannot use --${name}: it is not JSON: ${error.message}`);
  }
}

/** A checkpoint: `latest` or its uuid. */
export function checkpointOption(options: ParsedOptions): string | undefined {
  const text = options.text("at")?.toLowerCase();
  if (text === undefined || text === "latest" || UUID.test(text)) return text;
  const reason = text === "tail" ? "a tail is no checkpoint, ls shows where it stands; " : "";
  throw new UsageError(`Cannot use --at ${text}: ${reason}wants latest, or a checkpoint's uuid`);
}

/** Where to start: `latest`, `tail` or a checkpoint's uuid. */
export function atOption(options: ParsedOptions): string | undefined {
  const text = options.text("at")?.toLowerCase();
  if (text === undefined || text === "latest" || text === "tail") return text;
  if (UUID.test(text)) return text;
  throw new UsageError(`Cannot use --at ${text}: wants latest, tail, or a checkpoint's uuid`);
}

/** A range of key groups, such as `0-127`. */
export function keyGroupsOption(options: ParsedOptions): KeyGroupRange | undefined {
  const text = options.text("key-groups");
  if (text === undefined) return undefined;
  const [, from, to] = /^(-1|[0-9]{1,10})-(-1|[0-9]{1,10})$/.exec(text) ?? [];
  if (from !== undefined && Number(from) <= Number(to)) return [Number(from), Number(to)];
  throw new UsageError(`Cannot use --key-groups ${text}: wants a range such as 0-127`);
}

/** The argument that names a checkpoint. */
export const UUID_POSITIONAL: Command["positional"] = {
  name: "UUID",
  about: "the checkpoint; ls lists them",
  isRequired: true,
};

/** A checkpoint's uuid. */
export function parseUuid(what: string, text: string): string {
  const uuid = text.trim().toLowerCase();
  if (UUID.test(uuid)) return uuid;
  throw new UsageError(`Cannot use ${what} ${text}: wants a checkpoint's uuid`);
}

/** Uuids of checkpoints, with commas between them. */
export function uuidListOption(options: ParsedOptions, name: string): string[] | undefined {
  return options.text(name)?.split(",").map((part) => parseUuid(`--${name}`, part));
}

/** A time such as `36h`, in milliseconds. */
export function durationOption(options: ParsedOptions, name: string): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  const [, count, unit] = /^([0-9]+)(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const ms = Number(count) * MS_OF_UNIT[unit];
  if (Number.isSafeInteger(ms)) return ms;
  throw new UsageError(
    `Cannot use --${name} ${text}: wants a time such as 90s, 15m, 36h, 7d or 2w`,
  );
}

/** Milliseconds as {@link durationOption} reads them, in the largest unit that fits. */
export function formatDuration(ms: number): string {
  const units = Object.entries(MS_OF_UNIT).reverse();
  const [unit, size] = units.find(([, size]) => ms > 0 && ms % size === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}
