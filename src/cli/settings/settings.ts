/**
 * The settings of a command line: flags before the environment before the file.
 *
 * Owns: which of them counts, and where each value came from.
 * Does not own: which settings there are (`table.ts`), how values are read (`readers.ts`).
 * @module
 */
import { resolveSettings, type StoreSettings } from "../../engine/settings.ts";
import type { CliIo } from "../../runtime/cli_io.ts";
import { UsageError } from "../_usage_error.ts";
import { readSettingsFile, type SettingsFile } from "./_file.ts";
import { environmentOf, flagOf, type Setting } from "./setting.ts";
import { SETTING_KEYS, type SettingKey, SETTINGS, type SettingValue, STORE_KEYS } from "./table.ts";

/** Where a value came from. */
export type Origin =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "environment"; readonly name: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "default" };

/** What counts more stands first. */
const ORDER: readonly Origin["kind"][] = ["flag", "environment", "file", "default"];

interface Found {
  readonly value: unknown;
  readonly origin: Origin;
}

/** Values, each with where it came from. */
export class Settings {
  readonly #found: ReadonlyMap<SettingKey, Found>;

  constructor(found: ReadonlyMap<SettingKey, Found>) {
    this.#found = found;
  }

  /** The value that counts. */
  get<Key extends SettingKey>(key: Key): SettingValue<Key> {
    return this.#found.get(key)?.value as SettingValue<Key>;
  }

  /** Where that value came from. */
  originOf(key: SettingKey): Origin {
    return this.#found.get(key)?.origin ?? { kind: "default" };
  }

  /** A setting as it was given, for people. */
  nameOf(key: SettingKey): string {
    const origin = this.originOf(key);
    if (origin.kind === "file") return `"${key}" in ${origin.path}`;
    return origin.kind === "default" ? key : origin.name;
  }

  /**
   * Address of the sidecar to ask, unless what counts more names a folder.
   *
   * @throws {UsageError} Both are given in the same way
   */
  get sidecar(): string | undefined {
    const url = this.get("url");
    const [ofUrl, ofStore] = [this.originOf("url").kind, this.originOf("store").kind];
    if (url === undefined || ORDER.indexOf(ofStore) < ORDER.indexOf(ofUrl)) return undefined;
    if (ofStore !== ofUrl) return url;
    const [store, sidecar] = [this.nameOf("store"), this.nameOf("url")];
    throw new UsageError(`Cannot use ${store} with ${sidecar}: name a folder or a sidecar`);
  }

  /** What the engine is given. @throws {UsageError} Values that do not go together */
  ofStore(): Partial<StoreSettings> {
    // Defaults as well: not all are those of the library.
    const values = Object.fromEntries(STORE_KEYS.map((key) => [key, this.get(key)]));
    try {
      resolveSettings(values);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new UsageError(`${error.message}; tidemark config shows where each comes from`);
    }
    return values;
  }
}

/** An option of a command that gives a setting. */
export interface SettingOption {
  readonly type: "string" | "boolean";
  /** Stands for the value in the help. */
  readonly value?: string;
  readonly about: string;
  /** Which setting. */
  readonly setting: SettingKey;
}

/** Options of a command for some settings, by their flags. */
export function optionsOf(keys: readonly SettingKey[]): Record<string, SettingOption> {
  const withFlag = keys.filter((key) => SETTINGS[key].sources.includes("flag"));
  return Object.fromEntries(withFlag.map((key) => [flagOf(key), optionOf(key)]));
}

function optionOf(key: SettingKey): SettingOption {
  const { reader, fallback, about } = SETTINGS[key];
  const { placeholder } = reader;
  if (placeholder === undefined) return { type: "boolean", about, setting: key };
  const shown = `${about} (${fallback ?? "none"})`;
  return { type: "string", value: placeholder, about: shown, setting: key };
}

/**
 * Reads the settings of a command line.
 *
 * @throws {UsageError} A value that is not allowed, or a key that does not exist
 * @throws {TidemarkError} The file can't be read
 */
export async function readSettings(
  command: SettingTaker,
  options: GivenOptions,
  io: CliIo,
): Promise<Settings> {
  const found = new Map<SettingKey, Found>();
  const given = { command, options, io };
  const config = find("config", given, undefined);
  if (config !== undefined) found.set("config", config);
  const file = config && await readSettingsFile(config.value as string, io);
  for (const key of SETTING_KEYS) {
    const value = key === "config" ? config : find(key, given, file);
    if (value !== undefined) found.set(key, value);
  }
  return new Settings(found);
}

/** What takes settings as flags: those of its options that name one. */
interface SettingTaker {
  readonly name: string;
  readonly options: Readonly<Record<string, { readonly setting?: string }>>;
}

/** The flags of a command line. */
interface GivenOptions {
  required(name: string): string;
  flag(name: string): boolean;
}

interface Given {
  readonly command: SettingTaker;
  readonly options: GivenOptions;
  readonly io: CliIo;
}

function find(key: SettingKey, given: Given, file: SettingsFile | undefined): Found | undefined {
  const setting = SETTINGS[key] as Setting;
  return findFlag(key, setting, given) ?? findInEnvironment(key, setting, given) ??
    findInFile(key, setting, file) ?? defaultOf(setting, given);
}

function findFlag(key: SettingKey, setting: Setting, given: Given): Found | undefined {
  const name = flagOf(key);
  const { command, options, io } = given;
  // Another option of that name is the command's own.
  const isDeclared = key === "config" || command.options[name]?.setting === key;
  if (!isDeclared || !options.flag(name)) return undefined;
  const { reader, isSecret } = setting;
  const text = reader.placeholder === undefined ? "true" : options.required(name);
  const value = reader.ofText(text, io.absolutePath);
  const shown = isSecret ? `--${name}` : `--${name} ${text}`;
  if (value === undefined) throw wrongValue(shown, reader.wants, command.name);
  return { value, origin: { kind: "flag", name: `--${name}` } };
}

function findInEnvironment(key: SettingKey, setting: Setting, given: Given): Found | undefined {
  const { reader, isSecret, sources } = setting;
  if (!sources.includes("environment")) return undefined;
  const name = environmentOf(key);
  const text = given.io.env[name];
  // Empty counts as unset: it is how a shell takes a value back.
  if (text === undefined || text === "") return undefined;
  const value = reader.ofText(text, given.io.absolutePath);
  const shown = isSecret ? name : `${name} ${JSON.stringify(text)} of the environment`;
  if (value === undefined) throw wrongValue(shown, reader.wants, given.command.name);
  return { value, origin: { kind: "environment", name } };
}

function findInFile(
  key: SettingKey,
  setting: Setting,
  file: SettingsFile | undefined,
): Found | undefined {
  const json = file?.values.get(key);
  if (file === undefined || json === undefined || json === null) return undefined;
  const value = setting.reader.ofJson(json, file.absolutePath);
  const shown = setting.isSecret ? `"${key}"` : `"${key}": ${JSON.stringify(json)}`;
  if (value === undefined) throw wrongValue(`${shown} in ${file.path}`, setting.reader.wants);
  return { value, origin: { kind: "file", path: file.path } };
}

function defaultOf({ reader, fallback }: Setting, { io }: Given): Found | undefined {
  if (fallback === undefined) return undefined;
  return { value: reader.ofText(fallback, io.absolutePath), origin: { kind: "default" } };
}

function wrongValue(what: string, wants: string, command?: string): UsageError {
  return new UsageError(`Cannot use ${what}: wants ${wants}`, command);
}
