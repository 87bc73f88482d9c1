/** Values of options, checked. */
import type { KeyGroupRange } from "../engine/types.ts";
import type { ParsedOptions } from "./command.ts";
import { UsageError } from "./_usage_error.ts";

const U64_MAX = 2n ** 64n - 1n;

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

/** Where to start: `latest`, `tail` or a checkpoint's uuid. */
export function atOption(options: ParsedOptions): string | undefined {
  const text = options.text("at")?.toLowerCase();
  if (text === undefined || text === "latest" || text === "tail") return text;
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text;
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
