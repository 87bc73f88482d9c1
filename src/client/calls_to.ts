/**
 * Calls to a sidecar with nothing around them: each is sent once.
 *
 * Owns: the defaults of whoever gives none. Does not own: the calls.
 * @module
 */
import { TidemarkError } from "../engine/errors.ts";
import { SystemClock } from "../runtime/system_clock.ts";
import { systemFetch } from "../runtime/system_fetch.ts";
import { SystemRandom } from "../runtime/system_random.ts";
import { SidecarCalls } from "./sidecar_calls.ts";
import { type Fetch, Transport, type TransportParts } from "./transport.ts";

/** Each request is sent once. */
const ONCE = { retryDelayMsMin: 0, retryDelayMsMax: 0, retryDeadlineMs: 0 };

/** Options of {@link callsTo}. */
export interface CallsOptions {
  /** Sends a request. @default the runtime's own `fetch` */
  readonly fetch?: Fetch;
  /** Who asks. @default nobody: no token is sent */
  readonly token?: string;
}

/** Parts of a transport, those of the runtime where none are given. */
export function partsOf(given: Partial<TransportParts>): TransportParts {
  const {
    fetch = systemFetch(),
    clock = new SystemClock(),
    random = new SystemRandom(),
    ...others
  } = given;
  return { ...ONCE, ...others, fetch, clock, random };
}

/** Calls to a sidecar. @throws {TypeError} when the URL or the token can't be used */
export function callsTo(url: string, options: CallsOptions = {}): SidecarCalls {
  return new SidecarCalls(new Transport(url, partsOf(options)));
}

/** Whether an error means that the same append may be sent again: nothing of it was taken. */
export function isNotTaken(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && error.retryable && error.outcome === "not-applied";
}
