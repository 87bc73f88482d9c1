/**
 * Every setting that a flag, the environment or the settings' file can give. Flags, help,
 * `tidemark config` and `docs/SETTINGS.md` are made from it or held to it.
 * @module
 */
import { PLACE_SETTINGS } from "./_place_settings.ts";
import { SAFETY_SETTINGS } from "./_safety_settings.ts";
import { SERVE_SETTINGS } from "./_serve_settings.ts";
import { STORE_SETTINGS } from "./_store_settings.ts";
import type { Setting } from "./setting.ts";

/** The table; a key is the setting's name in the file. */
export const SETTINGS:
  & typeof PLACE_SETTINGS
  & typeof SERVE_SETTINGS
  & typeof SAFETY_SETTINGS
  & typeof STORE_SETTINGS = {
    ...PLACE_SETTINGS,
    ...SERVE_SETTINGS,
    ...SAFETY_SETTINGS,
    ...STORE_SETTINGS,
  };

/** A setting's name. */
export type SettingKey = keyof typeof SETTINGS;

/** Type of a setting's value. */
export type SettingValue<Key extends SettingKey> = (typeof SETTINGS)[Key] extends
  Setting<infer Value> ? Value : never;

/** Every name, in the table's order. */
export const SETTING_KEYS: readonly SettingKey[] = Object.keys(SETTINGS) as SettingKey[];

/** Settings of the engine. */
export const STORE_KEYS: readonly (keyof typeof STORE_SETTINGS)[] = Object.keys(
  STORE_SETTINGS,
) as (keyof typeof STORE_SETTINGS)[];

/** Settings that `serve` takes. */
export const SERVE_KEYS: readonly SettingKey[] = [
  "store",
  ...Object.keys(SERVE_SETTINGS) as SettingKey[],
  ...Object.keys(SAFETY_SETTINGS) as SettingKey[],
  ...STORE_KEYS,
];
