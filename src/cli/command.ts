/**
 * What a command is: a name, its options, and what it does.
 * @module
 */
import type { Store } from "../engine/types.ts";
import type { CliIo } from "../runtime/cli_io.ts";
import type { OpenStoreOptions } from "../runtime/open_store.ts";
import type { Report } from "./_report.ts";
import type { Settings } from "./settings/settings.ts";

/** What a command can work on: a folder of this machine, or a running sidecar. */
export type Side = "store" | "url";

/** Whether a command works on each side; a text says why it does not. */
export type Sides = Readonly<Record<Side, true | string>>;

/** A command that works on both. */
export const BOTH_SIDES: Sides = { store: true, url: true };

/** An option of a command. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** Stands for the value in the help. */
  readonly value?: string;
  readonly about: string;
  readonly isRequired?: boolean;
  /** Whether it may be given several times. */
  readonly isRepeatable?: boolean;
  /** The one side that it has a meaning on, and why it has none on the other. */
  readonly only?: { readonly side: Side; readonly because: string };
  /** The setting that it gives, which environment and file can give too. */
  readonly setting?: string;
}

/** What a command is given. */
export interface CommandContext {
  readonly io: CliIo;
  readonly report: Report;
  readonly options: ParsedOptions;
  /** What flags, environment and the settings' file say. */
  readonly settings: Settings;
  readonly positionals: readonly string[];
  readonly openStore: OpenStore;
}

/** Opens a store in a folder. */
export type OpenStore = (location: string, options: OpenStoreOptions) => Promise<Store>;

/** Values of the options that were given. */
export interface ParsedOptions {
  /** The value of a string option. */
  text(name: string): string | undefined;
  /** Every value of an option that may be given several times. */
  texts(name: string): readonly string[];
  /** The value of a string option that is required. */
  required(name: string): string;
  /** Whether an option was given, of either type. */
  flag(name: string): boolean;
}

/** One command. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly about: string;
  /** What follows the name in the usage line, options aside. */
  readonly positional?: {
    readonly name: string;
    readonly about: string;
    readonly isRequired: boolean;
  };
  readonly options: Readonly<Record<string, CommandOption>>;
  /** What it works on: it has `--store` and `--url` accordingly. */
  readonly sides: Sides;
  /** Lines below the options in the help. */
  readonly notes?: readonly string[];
  /** Does it; answers the exit code. */
  run(context: CommandContext): Promise<number>;
}
