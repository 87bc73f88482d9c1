/** The error for changes from outside that are none. @module */
import { TidemarkError } from "../errors.ts";

/** Where something is in the bytes that came from outside. */
export interface Place {
  /** Index of the change, from 0. */
  readonly index: number;
  /** Byte position. */
  readonly position: number;
}

/** An `invalid-change` that names the change and the byte where the trouble is. */
export function invalidChange(place: Place, reason: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    "invalid-change",
    `Cannot read change ${place.index} at byte ${place.position}: ${reason}; nothing was appended`,
    { details: { ...place }, cause },
  );
}
