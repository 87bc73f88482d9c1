/**
 * Options of the client: plain data with one frozen default.
 *
 * Owns: names, units, defaults, what is allowed. Does not own: what they do.
 * @module
 */
import { MIB } from "../engine/limits.ts";
import type { Clock } from "../engine/port/clock.ts";
import type { Random } from "../engine/port/random.ts";
import type { RetrySettings } from "./transport.ts";

/** The client's numbers. */
export interface ClientSettings extends RetrySettings {
  readonly batchBytesMax: number;
  readonly batchDelayMs: number;
  readonly bodyBytesMax: number;
  readonly inFlightBytesMax: number;
  readonly attemptMsMax: number;
  readonly longAttemptMsMax: number;
}

/**
 * Options of a {@link TidemarkClient}. Names end in their unit.
 *
 * @example
 * ```ts
 * import { type ClientOptions, TidemarkClient } from "@tidemark/tidemark/client";
 *
 * const options: ClientOptions = {
 *   token: "a-secret-of-the-sidecar",
 *   batchDelayMs: 50, // fewer, larger requests
 *   retryDeadlineMs: 10 * 60_000, // a sidecar may be away for ten minutes
 * };
 * await using client = new TidemarkClient("http://127.0.0.1:7460", options);
 * console.assert(client.url === "http://127.0.0.1:7460");
 * ```
 */
export interface ClientOptions {
  /** Sent as `Authorization: Bearer`; it stands in no message and no error. @default none */
  token?: string;
  /** Bytes of encoded changes that one request carries; a larger append goes alone. @default 1048576 */
  batchBytesMax?: number;
  /**
   * Milliseconds that a change waits for others, so that one request carries all. 0: for those of the same turn of the
   * event loop. While a request is under way the next batch gathers in any case. @default 5
   */
  batchDelayMs?: number;
  /** Largest append at once in bytes: what the sidecar takes, see its `--body-bytes-max`. @default 67108864 */
  bodyBytesMax?: number;
  /**
   * Bytes of encoded changes that a job holds in memory until they are durable. At the limit availability turns; what
   * would pass the limit by more than `batchBytesMax` is refused. @default 33554432
   */
  inFlightBytesMax?: number;
  /**
   * Milliseconds that one attempt of an append may take, until its changes are durable, or of a look at the job;
   * 0: as long as it takes. @default 30000
   */
  attemptMsMax?: number;
  /**
   * The same for a checkpoint, a resume and all else, but for what may take any time: to verify, to collect, to salvage,
   * to write a state piece by piece, and the streams that a restore and a state come in. @default 600000
   */
  longAttemptMsMax?: number;
  /** Upper bound of the first wait before a request is sent again, in milliseconds. It doubles. @default 100 */
  retryDelayMsMin?: number;
  /** Upper bound of all these waits, in milliseconds, on top of a `Retry-After`. @default 10000 */
  retryDelayMsMax?: number;
  /**
   * Milliseconds after the first attempt of a request began at which none begins any more; 0: it is sent once.
   * @default 120000
   */
  retryDeadlineMs?: number;
  /**
   * Sends a request, and rejects when there is no answer.
   *
   * @default the runtime's own `fetch`, without a limit on how long an answer may be awaited
   */
  fetch?: (request: Request) => Promise<Response>;
  /** What waits go by. @default the machine's clock */
  clock?: Clock;
  /** What draws waits and names. @default the machine's source of chance */
  random?: Random;
}

/** The defaults, frozen. */
export const DEFAULT_CLIENT_SETTINGS: Readonly<ClientSettings> = Object.freeze({
  batchBytesMax: MIB,
  batchDelayMs: 5,
  bodyBytesMax: 64 * MIB,
  inFlightBytesMax: 32 * MIB,
  attemptMsMax: 30_000,
  longAttemptMsMax: 600_000,
  retryDelayMsMin: 100,
  retryDelayMsMax: 10_000,
  retryDeadlineMs: 120_000,
});

/** The longest that timers of every runtime can wait. */
const DELAY_MS_MAX = 2 ** 31 - 1;
const BYTES = "a whole number of bytes";
const MS = "a whole number of milliseconds";

const RANGES: Readonly<
  Record<keyof ClientSettings, readonly [min: number, max: number, kind: string]>
> = {
  batchBytesMax: [1, 1024 * MIB, BYTES],
  batchDelayMs: [0, DELAY_MS_MAX, MS],
  bodyBytesMax: [1, 1024 * MIB, BYTES],
  inFlightBytesMax: [1, Number.MAX_SAFE_INTEGER, BYTES],
  attemptMsMax: [0, DELAY_MS_MAX, MS],
  longAttemptMsMax: [0, DELAY_MS_MAX, MS],
  retryDelayMsMin: [0, DELAY_MS_MAX, MS],
  retryDelayMsMax: [0, DELAY_MS_MAX, MS],
  retryDeadlineMs: [0, Number.MAX_SAFE_INTEGER, MS],
};

/** Settings of which the first may not be above the second. */
const NOT_ABOVE: readonly (readonly [keyof ClientSettings, keyof ClientSettings])[] = [
  ["batchBytesMax", "bodyBytesMax"],
  ["batchBytesMax", "inFlightBytesMax"],
  ["retryDelayMsMin", "retryDelayMsMax"],
];

const COMPONENTS: readonly string[] = ["token", "fetch", "clock", "random"];

/**
 * Fills in the defaults, and checks every number, alone and against the others. One that is left out is brought below
 * the one that it may not be above.
 *
 * @throws {TypeError} An option that does not exist, or is of the wrong type.
 * @throws {RangeError} A value that is not allowed, or two that do not go together.
 */
export function resolveClientSettings(options: ClientOptions): ClientSettings {
  const settings: Record<keyof ClientSettings, number> = { ...DEFAULT_CLIENT_SETTINGS };
  for (const [name, value] of Object.entries(options)) {
    if (COMPONENTS.includes(name)) continue;
    if (!Object.hasOwn(RANGES, name)) {
      const known = [...COMPONENTS, ...Object.keys(RANGES)].join(", ");
      throw new TypeError(`Unknown option ${JSON.stringify(name)}: wants one of ${known}`);
    }
    if (value === undefined) continue;
    settings[name as keyof ClientSettings] = checked(name as keyof ClientSettings, value);
  }
  for (const [low, high] of NOT_ABOVE) {
    if (options[low] === undefined) settings[low] = Math.min(settings[low], settings[high]);
    if (settings[low] <= settings[high]) continue;
    throw new RangeError(
      `Options do not go together: ${low} ${settings[low]} is above ${high} ${settings[high]}`,
    );
  }
  return settings;
}

function checked(name: keyof ClientSettings, value: unknown): number {
  const [min, max, kind] = RANGES[name];
  if (typeof value !== "number") {
    throw new TypeError(`Option ${name} is ${JSON.stringify(value)}: wants ${kind}`);
  }
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(`Option ${name} is ${value}: wants ${kind} from ${min} to ${max}`);
}
