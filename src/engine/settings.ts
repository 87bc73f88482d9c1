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
} from "./limits.ts";

/** How a store is opened and how it works. Every size is in bytes. */
export interface StoreSettings {
  /** `own`: jobs are opened for writing; `read`: nothing is ever written. @default "own" */
  mode: "own" | "read";
  /** Whether to make the store where it is missing; never in mode `read`. @default true */
  create: boolean;
  /** Which file system implementation to use; `auto` chooses by runtime. @default "auto" */
  fileSystem: "auto" | "node" | "deno" | "bun";
  /** How blocks of change files are stored; `none` stores them plainly. @default "lz4" */
  compression: "lz4" | "none";
  /** Size of a block before compression: 64 KiB, 256 KiB, 1 MiB or 4 MiB. @default 262144 */
  blockBytes: number;
  /** Largest change that is taken. @default 268435456 */
  changeBytesMax: number;
  /** Size at which a change file ends and the next one begins. @default 1073741824 */
  changeFileBytesMax: number;
  /** A writer persists by itself when it holds this many bytes that were not handed to an upload. @default 5242880 */
  preemptivePersistBytes: number;
  /**
   * Bytes that a job may hold in memory: active, waiting, failed and in flight. At the limit availability turns;
   * what would pass the limit by more than `preemptivePersistBytes` is refused. @default 104857600
   */
  inFlightBytesMax: number;
}

/** The settings' defaults. */
export const DEFAULT_SETTINGS: Readonly<StoreSettings> = Object.freeze({
  mode: "own",
  create: true,
  fileSystem: "auto",
  compression: "lz4",
  blockBytes: BLOCK_BYTES_DEFAULT,
  changeBytesMax: CHANGE_BYTES_MAX,
  changeFileBytesMax: CHANGE_FILE_BYTES_MAX,
  preemptivePersistBytes: 5 * MIB,
  inFlightBytesMax: 100 * MIB,
});

const CHOICES: { readonly [Name in keyof StoreSettings]?: readonly StoreSettings[Name][] } = {
  mode: ["own", "read"],
  create: [true, false],
  fileSystem: ["auto", "node", "deno", "bun"],
  compression: ["lz4", "none"],
  blockBytes: [BLOCK_BYTES_MIN, BLOCK_BYTES_DEFAULT, MIB, BLOCK_BYTES_MAX],
};

const RANGES: { readonly [Name in keyof StoreSettings]?: readonly [min: number, max: number] } = {
  changeBytesMax: [1, CHANGE_BYTES_MAX],
  changeFileBytesMax: [1, CHANGE_FILE_BYTES_MAX],
  preemptivePersistBytes: [1, CHANGE_FILE_BYTES_MAX],
  inFlightBytesMax: [1, Number.MAX_SAFE_INTEGER],
};

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
  if (settings.preemptivePersistBytes > settings.inFlightBytesMax) {
    throw new RangeError(
      `Settings do not go together: preemptivePersistBytes ${settings.preemptivePersistBytes} is above inFlightBytesMax ${settings.inFlightBytesMax}`,
    );
  }
  return settings;
}

function checkSetting(name: keyof StoreSettings, value: unknown): void {
  const choices = CHOICES[name] as readonly unknown[] | undefined;
  if (choices !== undefined) {
    if (choices.includes(value)) return;
    throw new RangeError(
      `Setting ${name} is ${JSON.stringify(value)}: wants one of ${choices.join(", ")}`,
    );
  }
  const [min, max] = RANGES[name]!;
  if (typeof value !== "number") {
    throw new TypeError(`Setting ${name} is ${JSON.stringify(value)}: wants a number of bytes`);
  }
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new RangeError(
      `Setting ${name} is ${value}: wants a whole number of bytes from ${min} to ${max}`,
    );
  }
}
