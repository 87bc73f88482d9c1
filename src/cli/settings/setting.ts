/**
 * What a setting is: its names, how its value is read, what it is when nothing says so.
 * @module
 */

/** Where a setting may be given. */
export type SettingSource = "flag" | "environment" | "file";

/** Makes a path absolute, against the working folder or the folder of the settings' file. */
export type AbsolutePath = (path: string) => string;

/** How a value is read. */
export interface Reader<Value> {
  /** Stands for the value in the help; none where the flag alone says it. */
  readonly placeholder?: string;
  /** What a value may be, in words. */
  readonly wants: string;
  /** Reads a flag's or the environment's text; undefined when it is no such value. */
  ofText(text: string, absolutePath: AbsolutePath): Value | undefined;
  /** Reads a value of the file; undefined when it is no such value. */
  ofJson(json: unknown, absolutePath: AbsolutePath): Value | undefined;
  /** The value for people. */
  toText(value: Value): string;
}

/** One setting; its key in the table is its name in the file. */
export interface Setting<Value = unknown> {
  readonly reader: Reader<NonNullable<Value>>;
  /** What it is when nothing says so, as a flag would have it; none: it is not set then. */
  readonly fallback?: string;
  /** One line for help and docs. */
  readonly about: string;
  /** Where it may be given. */
  readonly sources: readonly SettingSource[];
  /** Whether its value is never shown. */
  readonly isSecret: boolean;
}

/** What only some settings have. */
export interface SettingTraits {
  /** @default all three */
  readonly sources?: readonly SettingSource[];
  /** @default false */
  readonly isSecret?: boolean;
}

/** A setting that always has a value. */
export function setting<Value>(
  reader: Reader<Value & NonNullable<unknown>>,
  fallback: string,
  about: string,
  traits: SettingTraits = {},
): Setting<Value> {
  return { ...optionalSetting(reader, about, traits), fallback } as Setting<Value>;
}

/** A setting that may be without a value. */
export function optionalSetting<Value>(
  reader: Reader<Value & NonNullable<unknown>>,
  about: string,
  { sources = ["flag", "environment", "file"], isSecret = false }: SettingTraits = {},
): Setting<Value | undefined> {
  return { reader, about, sources, isSecret } as Setting<Value | undefined>;
}

/** The flag of a key, without its dashes: `persistDelayMs` is `persist-delay-ms`. */
export function flagOf(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The environment's name of a key: `persistDelayMs` is `TIDEMARK_PERSIST_DELAY_MS`. */
export function environmentOf(key: string): string {
  return `TIDEMARK_${flagOf(key).replaceAll("-", "_").toUpperCase()}`;
}
