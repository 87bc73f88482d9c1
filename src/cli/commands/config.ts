/**
 * `config`: the settings that count, and where each came from.
 * @module
 */
import { formatTable } from "../_format.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { misspelledVariables } from "../settings/environment.ts";
import { environmentOf, flagOf, type Setting } from "../settings/setting.ts";
import { optionsOf, type Origin, type Settings } from "../settings/settings.ts";
import { SETTING_KEYS, type SettingKey, SETTINGS } from "../settings/table.ts";

/** The command. */
export const CONFIG: Command = {
  name: "config",
  about: "Show the settings that count, and where each came from",
  options: optionsOf(SETTING_KEYS.filter((key) => key !== "config")),
  sides: BOTH_SIDES,
  notes: [
    "Takes the flags of serve and of the other commands, and opens nothing. A flag counts more than the",
    "environment, and that more than the file that --config or TIDEMARK_CONFIG names.",
  ],
  run,
};

async function run({ io, settings, report }: CommandContext): Promise<number> {
  for (const { name, meant } of misspelledVariables(io.env)) {
    report.message(`Nobody looks at ${name}: did you mean ${meant}?`, { unknown: name, meant });
  }
  const rows = SETTING_KEYS.map((key) => rowOf(key, settings));
  const heading = ["SETTING", "VALUE", "FROM"];
  const cells = rows.map(({ key, shown, origin }) => [flagOf(key), shown, originText(origin)]);
  await report.result(formatTable([heading, ...cells]), {
    settings: rows.map(({ key, value, origin }) => ({
      name: key,
      environment: environmentOf(key),
      value,
      from: origin,
    })),
  });
  settings.ofStore();
  return EXIT_OK;
}

function rowOf(key: SettingKey, settings: Settings): {
  readonly key: SettingKey;
  readonly shown: string;
  readonly value: unknown;
  readonly origin: Origin;
} {
  const { reader, isSecret } = SETTINGS[key] as Setting;
  const origin = settings.originOf(key);
  const value = settings.get(key);
  if (value === undefined) return { key, shown: "none", value: null, origin };
  if (isSecret) return { key, shown: "(secret)", value: "(secret)", origin };
  const shown = reader.toText(value);
  const isPlain = typeof value !== "object" || Array.isArray(value);
  return { key, shown, value: isPlain ? value : shown, origin };
}

function originText(origin: Origin): string {
  if (origin.kind === "file") return `file ${origin.path}`;
  return origin.kind === "default" ? "default" : `${origin.kind} ${origin.name}`;
}
