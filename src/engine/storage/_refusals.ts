/** Refusals that every backend words alike. @module */
import { TidemarkError } from "../errors.ts";
import type { GetOptions } from "./backend.ts";

/** No object of this key. */
export function noObjectError(action: string, key: string): TidemarkError {
  return new TidemarkError(
    "object-not-found",
    `Cannot ${action} ${JSON.stringify(key)}: there is no such object`,
    { details: { key } },
  );
}

/** The caller's signal ended a read. */
export function abortedError(key: string, signal: AbortSignal): TidemarkError {
  return new TidemarkError("aborted", `Cannot read ${JSON.stringify(key)}: the caller aborted it`, {
    details: { key },
    cause: signal.reason,
  });
}

/** Checks the range of a read, and the memory for it. @throws {RangeError} */
export function checkRange(key: string, options: GetOptions): { from: number; to: number } {
  const from = options.from ?? 0;
  const to = options.to ?? Infinity;
  if (!Number.isSafeInteger(from) || from < 0) {
    throw new RangeError(`Cannot read ${JSON.stringify(key)} from byte ${from}: wants 0 or more`);
  }
  if (!(to >= from) || (to !== Infinity && !Number.isSafeInteger(to))) {
    throw new RangeError(
      `Cannot read ${JSON.stringify(key)} to byte ${to}: wants a whole number, at least ${from}`,
    );
  }
  const { into } = options;
  if (into !== undefined && !(into.length >= to - from)) {
    throw new RangeError(
      `Cannot read ${JSON.stringify(key)} into ${into.length} bytes: wants room for ${to - from}`,
    );
  }
  return { from, to };
}
