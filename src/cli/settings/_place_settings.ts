/** Settings of every command: where the store is. */
import { path, text } from "./readers.ts";
import { optionalSetting, type Setting, setting } from "./setting.ts";

/** Rows of the table. */
export const PLACE_SETTINGS: {
  readonly config: Setting<string | undefined>;
  readonly store: Setting<string>;
  readonly url: Setting<string | undefined>;
} = {
  config: optionalSetting(path("FILE", "a file"), "file of settings, in JSON", {
    sources: ["flag", "environment"],
  }),
  store: setting(path("DIR", "a folder"), "./tidemark-data", "folder of the store"),
  url: optionalSetting(
    text(
      "URL",
      "an address of a sidecar, such as http://127.0.0.1:7460",
      (url) => url || undefined,
    ),
    "address of a sidecar, in place of --store",
  ),
};
