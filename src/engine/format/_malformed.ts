/** What is thrown within this folder for bytes that are not what they should be. @module */
import { TidemarkError } from "../errors.ts";
import { FORMAT_VERSION } from "../limits.ts";

/** Bytes, or values decoded from them, that are not what they should be; never leaves this folder. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

/** Bytes that are whole, but of a newer format; never leaves this folder. */
export class NewerFormat extends Error {
  override readonly name = "NewerFormat";

  constructor(readonly version: number) {
    super(`its format version is ${version}, this program knows up to ${FORMAT_VERSION}`);
  }
}

/** A byte range of an object. */
export interface Range {
  readonly key: string;
  /** First byte. */
  readonly from: number;
  /** First byte after it. */
  readonly to: number;
}

/** The `corrupt` error of an object: what, where, why. */
export function corrupt(
  range: Range,
  what: string,
  reason: string,
  cause?: unknown,
): TidemarkError {
  const { key, from, to } = range;
  return new TidemarkError(
    "corrupt",
    `Cannot read ${what} at bytes ${from} to ${to} of ${JSON.stringify(key)}: ${reason}`,
    { details: { key, from, to, what, reason }, cause },
  );
}

/** The `unsupported-format` error of an object. */
export function unsupported(key: string, newer: NewerFormat): TidemarkError {
  return new TidemarkError(
    "unsupported-format",
    `Cannot read ${JSON.stringify(key)}: ${newer.message}; use a newer program`,
    { details: { key, found: newer.version, wanted: FORMAT_VERSION } },
  );
}

/** What `action` finds malformed or too new becomes the error for users. */
export async function orCorrupt<T>(
  range: Range,
  what: string,
  action: () => T | Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof Malformed) throw corrupt(range, what, error.message, error.cause);
    if (error instanceof NewerFormat) throw unsupported(range.key, error);
    throw error;
  }
}
