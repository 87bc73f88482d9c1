/**
 * Settings: plain data with one frozen default. Components (clock, logger, backend) are arguments instead.
 * @module
 */
import {
  BLOCK_BYTES_DEFAULT,
  BLOCK_BYTES_MAX,
  BLOCK_BYTES_MIN,
  CHANGE_BYTES_MAX,
  CHANGE_FILE_BYTES_MAX,
  MIB,
  RESERVE_BYTES,
} from "./limits.ts";

/**
 * How a store is opened and how it works. Names end in their unit. `docs/SETTINGS.md` lists where they come from.
 *
 * @example
 * ```ts
 * import { openStore, type StoreSettings } from "@tidemark/tidemark";
 *
 * const settings: Partial<StoreSettings> = {
 *   inFlightBytesMax: 32 * 1024 * 1024,
 *   persistDelayMs: 0,
 *   uploadRetryPolicy: "exponential",
 * };
 * await using store = await openStore("memory:", settings);
 * console.assert(store.isNew);
 * ```
 */
export interface StoreSettings {
  /** `own`: jobs are opened for writing; `read`: nothing is written but leases of readers. @default "own" */
  mode: "own" | "read";
  /** Whether to make the store where it is missing; never in mode `read`. @default true */
  create: boolean;
  /** Which file system implementation to use; `auto` chooses by runtime. @default "auto" */
  fileSystem: "auto" | "node" | "deno" | "bun";
  /** How blocks of change files are stored; `none` stores them plainly. @default "lz4" */
  compression: "lz4" | "none";
  /**
   * Threads that encode batches with change sets of 256 KiB and more while the engine's own goes on: 1, or 2 that share
   * each batch; 0: the engine's own does it. They take up to 80 MiB. Not for a backend of one's own, which would get
   * shared memory. @default 0
   */
  codecThreads: number;
  /** Size of a block before compression: 64 KiB, 256 KiB, 1 MiB or 4 MiB. @default 262144 */
  blockBytes: number;
  /** Largest change that is taken. @default 268435456 */
  changeBytesMax: number;
  /** Room that is given up when a publish meets a full disk, so that a collection can make more; 0: none. @default 4194304 */
  reserveBytes: number;
  /**
   * Bytes that all objects of the store may take, the reserve included; 0: any. What would pass it is refused as
   * `storage-full`; there is a warning at 90 %. @default 0
   */
  storeBytesMax: number;
  /** The same for the objects of each job. @default 0 */
  jobBytesMax: number;
  /** Size at which a change file ends and the next one begins. @default 1073741824 */
  changeFileBytesMax: number;
  /** A writer persists by itself when it holds this many bytes that were not handed to an upload. @default 5242880 */
  preemptivePersistBytes: number;
  /**
   * Bytes that a job may hold in memory: active, waiting, failed and in flight. At the limit availability turns;
   * what would pass the limit by more than `preemptivePersistBytes` is refused. @default 104857600
   */
  inFlightBytesMax: number;
  /**
   * Milliseconds that a persist waits for others, so that one upload serves all: from the first of them on. 0: none;
   * those of one turn of the event loop, and those that come while an upload is running, still share one. @default 10
   */
  persistDelayMs: number;
  /**
   * Milliseconds at most that a persist waits, after an upload, until as many wait as shared that upload or waited for
   * its end: where many wait for each answer, they share one. One that is alone waits for none. @default 0
   */
  persistGatherMs: number;
  /** Waiting bytes that are uploaded without waiting any longer; an upload ends there. @default 10485760 */
  persistSizeThresholdBytes: number;
  /**
   * Attempts to upload that run at once, hung ones included. A change file takes one at a time all the same.
   * @default 5
   */
  uploadConcurrencyMax: number;
  /**
   * Whether an upload that failed is tried again: never, after the same delay each time, or after delays that grow,
   * each drawn evenly up to its bound. @default "fixed"
   */
  uploadRetryPolicy: "none" | "fixed" | "exponential";
  /** Milliseconds that an attempt may take; 0: as long as it takes. Not for policy `none`. @default 30000 */
  uploadTimeoutMs: number;
  /** Attempts of an upload, the first included. Not for policy `none`. @default 3 */
  uploadAttemptsMax: number;
  /** Milliseconds between a failure and the next attempt; for `exponential` the first bound. @default 500 */
  uploadRetryDelayMs: number;
  /** Milliseconds after the first attempt at which none begins any more. For `exponential`. @default 120000 */
  uploadDeadlineMs: number;
  /** Files that are deleted at once. @default 4 */
  discardConcurrencyMax: number;
  /** Milliseconds after which a change file ends and the next one begins, when something is uploaded. @default 600000 */
  changeFileAgeMsMax: number;
  /** Folder for a second copy of change files, from which a restore reads first; null: none. @default null */
  localRecoveryPath: string | null;
}

/**
 * The settings' defaults, frozen.
 *
 * @example
 * ```ts
 * import { DEFAULT_SETTINGS } from "@tidemark/tidemark";
 *
 * console.assert(DEFAULT_SETTINGS.inFlightBytesMax === 100 * 1024 * 1024);
 * ```
 */
export const DEFAULT_SETTINGS: Readonly<StoreSettings> = Object.freeze({
  mode: "own",
  create: true,
  fileSystem: "auto",
  compression: "lz4",
  codecThreads: 0,
  blockBytes: BLOCK_BYTES_DEFAULT,
  changeBytesMax: CHANGE_BYTES_MAX,
  reserveBytes: RESERVE_BYTES,
  storeBytesMax: 0,
  jobBytesMax: 0,
  changeFileBytesMax: CHANGE_FILE_BYTES_MAX,
  preemptivePersistBytes: 5 * MIB,
  inFlightBytesMax: 100 * MIB,
  persistDelayMs: 10,
  persistGatherMs: 0,
  persistSizeThresholdBytes: 10 * MIB,
  uploadConcurrencyMax: 5,
  uploadRetryPolicy: "fixed",
  uploadTimeoutMs: 30_000,
  uploadAttemptsMax: 3,
  uploadRetryDelayMs: 500,
  uploadDeadlineMs: 120_000,
  discardConcurrencyMax: 4,
  changeFileAgeMsMax: 600_000,
  localRecoveryPath: null,
});

/** The longest that timers of every runtime can wait. */
const DELAY_MS_MAX = 2 ** 31 - 1;
const COUNT_AT_ONCE_MAX = 1000;

const CHOICES: { readonly [Name in keyof StoreSettings]?: readonly StoreSettings[Name][] } = {
  mode: ["own", "read"],
  create: [true, false],
  fileSystem: ["auto", "node", "deno", "bun"],
  compression: ["lz4", "none"],
  blockBytes: [BLOCK_BYTES_MIN, BLOCK_BYTES_DEFAULT, MIB, BLOCK_BYTES_MAX],
  uploadRetryPolicy: ["none", "fixed", "exponential"],
};

const BYTES = "a whole number of bytes";
const MS = "a whole number of milliseconds";
const COUNT = "a whole number";

type Range = readonly [min: number, max: number, kind: string];

const RANGES: { readonly [Name in keyof StoreSettings]?: Range } = {
  codecThreads: [0, 2, COUNT],
  changeBytesMax: [1, CHANGE_BYTES_MAX, BYTES],
  reserveBytes: [0, CHANGE_FILE_BYTES_MAX, BYTES],
  storeBytesMax: [0, Number.MAX_SAFE_INTEGER, BYTES],
  jobBytesMax: [0, Number.MAX_SAFE_INTEGER, BYTES],
  changeFileBytesMax: [1, CHANGE_FILE_BYTES_MAX, BYTES],
  preemptivePersistBytes: [1, CHANGE_FILE_BYTES_MAX, BYTES],
  inFlightBytesMax: [1, Number.MAX_SAFE_INTEGER, BYTES],
  persistDelayMs: [0, DELAY_MS_MAX, MS],
  persistGatherMs: [0, DELAY_MS_MAX, MS],
  // A recovery may have to hold a batch in memory.
  persistSizeThresholdBytes: [0, 64 * MIB, BYTES],
  uploadConcurrencyMax: [1, COUNT_AT_ONCE_MAX, COUNT],
  uploadTimeoutMs: [0, DELAY_MS_MAX, MS],
  uploadAttemptsMax: [1, COUNT_AT_ONCE_MAX, COUNT],
  uploadRetryDelayMs: [0, DELAY_MS_MAX, MS],
  uploadDeadlineMs: [0, DELAY_MS_MAX, MS],
  discardConcurrencyMax: [1, COUNT_AT_ONCE_MAX, COUNT],
  changeFileAgeMsMax: [1, DELAY_MS_MAX, MS],
};

/** Settings of which the first may not be above the second. */
const NOT_ABOVE: readonly (readonly [keyof StoreSettings, keyof StoreSettings])[] = [
  ["preemptivePersistBytes", "inFlightBytesMax"],
  ["persistSizeThresholdBytes", "inFlightBytesMax"],
];

/**
 * Fills in the defaults and checks every setting, alone and against the others.
 *
 * @param input Settings that differ from the default; an undefined one takes its default.
 * @throws {TypeError} A setting that does not exist, or is of the wrong type.
 * @throws {RangeError} A value that is not allowed, or two that do not go together.
 */
export function resolveSettings(input: Partial<StoreSettings> = {}): StoreSettings {
  const settings: StoreSettings = { ...DEFAULT_SETTINGS };
  for (const [name, value] of Object.entries(input)) {
    if (!Object.hasOwn(DEFAULT_SETTINGS, name)) {
      throw new TypeError(
        `Unknown setting ${JSON.stringify(name)}: wants one of ${
          Object.keys(DEFAULT_SETTINGS).join(", ")
        }`,
      );
    }
    if (value === undefined) continue;
    checkSetting(name as keyof StoreSettings, value);
    Object.assign(settings, { [name]: value });
  }
  for (const [low, high] of NOT_ABOVE) {
    if (settings[low]! > settings[high]!) {
      throw new RangeError(
        `Settings do not go together: ${low} ${settings[low]} is above ${high} ${settings[high]}`,
      );
    }
  }
  return settings;
}

/**
 * What a setting may be, in words.
 *
 * @param name A setting that exists.
 */
export function wantedOf(name: keyof StoreSettings): string {
  const choices = CHOICES[name] as readonly unknown[] | undefined;
  if (choices !== undefined) return `one of ${choices.join(", ")}`;
  if (name === "localRecoveryPath") return "a folder, or null";
  const [min, max, kind] = RANGES[name]!;
  return `${kind} from ${min} to ${max}`;
}

/**
 * Whether a setting may have a value, the others aside.
 *
 * @param name A setting that exists.
 */
export function isAllowedSetting(name: keyof StoreSettings, value: unknown): boolean {
  const choices = CHOICES[name] as readonly unknown[] | undefined;
  if (choices !== undefined) return choices.includes(value);
  if (name === "localRecoveryPath") return value === null || isText(value);
  const [min, max] = RANGES[name]!;
  return Number.isSafeInteger(value) && value as number >= min && value as number <= max;
}

function checkSetting(name: keyof StoreSettings, value: unknown): void {
  if (isAllowedSetting(name, value)) return;
  const shown = typeof value === "number" ? value : JSON.stringify(value);
  const message = `Setting ${name} is ${shown}: wants ${wantedOf(name)}`;
  if (typeof value === typeof DEFAULT_SETTINGS[name] || CHOICES[name] !== undefined) {
    throw new RangeError(message);
  }
  throw new TypeError(message);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
