/** Checks of single values that were decoded, or are to be encoded. @module */
import { checkName } from "../paths.ts";
import { COUNT_MAX, U64_MAX } from "../limits.ts";
import { hasCode } from "../errors.ts";
import { UUID } from "../uuid.ts";
import { Malformed } from "./_malformed.ts";

/** A whole number from 0 to 2^53 - 1; a larger one comes as a bigint. */
export function wantCount(what: string, value: unknown): number {
  const number = typeof value === "bigint" && value <= COUNT_MAX ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
  throw new Malformed(`its ${what} is ${show(value)}, wants a whole number from 0 to ${COUNT_MAX}`);
}

/** A whole number in a range, both ends included. Positional, as it is asked of every change set. */
export function wantWithin(
  what: string,
  value: unknown,
  least: number,
  most: number,
): number {
  const number = typeof value === "bigint" && value <= COUNT_MAX ? Number(value) : value;
  if (
    typeof number === "number" && Number.isSafeInteger(number) && number >= least && number <= most
  ) return number;
  throw new Malformed(
    `its ${what} is ${show(value)}, wants a whole number from ${least} to ${most}`,
  );
}

/** A hash: any u64. */
export function wantHash(what: string, value: unknown): bigint {
  if (typeof value === "bigint" && value >= 0n && value <= U64_MAX) return value;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw new Malformed(`its ${what} is ${show(value)}, wants an XXH64`);
}

/** A job, writer or log name. */
export function wantName(what: string, value: unknown): string {
  if (typeof value !== "string") throw new Malformed(`its ${what} is ${show(value)}, wants a name`);
  try {
    return checkName(what, value);
  } catch (cause) {
    if (hasCode(cause, "invalid-name")) throw new Malformed(cause.message, { cause });
    throw cause;
  }
}

/** A uuid in lower case. */
export function wantUuid(what: string, value: unknown): string {
  if (typeof value === "string" && UUID.test(value)) return value;
  throw new Malformed(`its ${what} is ${show(value)}, wants a uuid`);
}

/** Some bytes. */
export function wantBytes(what: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new Malformed(`its ${what} is ${show(value)}, wants a byte string`);
}

/** An array, of a fixed length where one is given. */
export function wantArray(what: string, value: unknown, length?: number): readonly unknown[] {
  if (Array.isArray(value) && (length === undefined || value.length === length)) return value;
  const wanted = length === undefined ? "an array" : `an array of ${length}`;
  throw new Malformed(`its ${what} is ${show(value)}, wants ${wanted}`);
}

/** One certain value. */
export function wantSame<T>(what: string, found: T, wanted: T): void {
  if (found === wanted) return;
  throw new Malformed(`its ${what} is ${show(found)}, wants ${show(wanted)}`);
}

function show(value: unknown): string {
  if (typeof value === "bigint") return `0x${value.toString(16)}`;
  if (typeof value === "string") return JSON.stringify(value.slice(0, 200));
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === "number" ? String(value) : `a value of type ${typeof value}`;
}
