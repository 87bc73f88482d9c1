/** What a caller gives as states of a checkpoint. @module */
import { TidemarkError } from "../errors.ts";
import { MIB, STATES_MAX } from "../limits.ts";
import { checkName } from "../paths.ts";
import type { StateContent, StateSource } from "../types.ts";

/** States by name, in order of name. */
export type StateSources = ReadonlyMap<string, StateSource>;

/**
 * Checks the states that a caller gives, and keeps which they are, whatever the caller changes afterwards; not their
 * content.
 *
 * @throws {TypeError}
 * @throws {TidemarkError} `invalid-name`; `invalid-request`: they are too many.
 */
export function takeStates(given: Readonly<Record<string, StateSource>> = {}): StateSources {
  const entries = Object.entries(given).sort(([a], [b]) => a < b ? -1 : 1);
  if (entries.length > STATES_MAX) {
    throw new TidemarkError(
      "invalid-request",
      `Cannot make a checkpoint of ${entries.length} states: at most ${STATES_MAX} are allowed; put several into one`,
      { details: { states: entries.length, statesMax: STATES_MAX } },
    );
  }
  return new Map(entries.map(([name, source]) => [checkName("state", name), take(name, source)]));
}

function take(name: string, source: StateSource): StateSource {
  if (isContent(source)) return source;
  const { from, written } = (source ?? {}) as { from?: unknown; written?: unknown };
  if (typeof from === "string" && written === undefined) return { from };
  if (typeof written === "string" && from === undefined) return { written };
  throw new TypeError(
    `Cannot use what is given as state ${name}: wants a Uint8Array, an AsyncIterable of them, { from } or { written }`,
  );
}

/** Whether it is content, and no reference. */
export function isContent(source: unknown): source is StateContent {
  return source instanceof Uint8Array ||
    (typeof source === "object" && source !== null && Symbol.asyncIterator in source);
}

/** Content as pieces that are not too large to be worked on at once. */
export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MIB) yield bytes.subarray(at, at + MIB);
}
