/**
 * Variables of the environment that look like settings and are none.
 * @module
 */
import { suggest } from "../_suggest.ts";
import { environmentOf, type Setting } from "./setting.ts";
import { SETTING_KEYS, SETTINGS } from "./table.ts";

/**
 * What variables were meant to be that are near to a setting's name. Others that begin like one may be anything: an
 * orchestrator makes some for each service.
 */
export function misspelledVariables(
  env: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly meant: string }[] {
  const known = SETTING_KEYS
    .filter((key) => (SETTINGS[key] as Setting).sources.includes("environment"))
    .map(environmentOf);
  return Object.keys(env)
    .filter((name) => name.startsWith("TIDEMARK_") && !known.includes(name))
    .flatMap((name) => {
      const meant = suggest(name, known);
      return meant === undefined ? [] : [{ name, meant }];
    });
}
