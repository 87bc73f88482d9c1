/**
 * What follows from a backend's primitives, as free functions.
 * Owns nothing. Absent is never the same as unreadable: only `object-not-found` counts as absent.
 * @module
 */
import { hasCode, TidemarkError } from "../errors.ts";
import { FACT_BYTES_MAX } from "../limits.ts";
import type { StorageBackend } from "./backend.ts";

/**
 * Reads a small object whole. Of one that is larger than it may be, no more is taken into memory than shows it.
 *
 * @throws {TidemarkError} `object-not-found`; `corrupt` when it is larger than small facts may be
 */
export async function readSmall(backend: StorageBackend, key: string): Promise<Uint8Array> {
  const bytes = await backend.get(key, { from: 0, to: FACT_BYTES_MAX + 1 });
  if (bytes.length <= FACT_BYTES_MAX) return bytes;
  const reason = `it has more than ${FACT_BYTES_MAX} bytes`;
  throw new TidemarkError("corrupt", `Cannot read ${JSON.stringify(key)}: ${reason}`, {
    details: { key, reason },
  });
}

/** {@link readSmall}; undefined when there is no such object. One that can't be read is an error. */
export async function readOptional(
  backend: StorageBackend,
  key: string,
): Promise<Uint8Array | undefined> {
  try {
    return await readSmall(backend, key);
  } catch (error) {
    if (hasCode(error, "object-not-found")) return undefined;
    throw error;
  }
}
