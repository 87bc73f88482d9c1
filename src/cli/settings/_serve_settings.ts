/** Settings of the sidecar itself. */
import { addressReader, type ListenAddress } from "./address.ts";
import type { LogLevel } from "../../engine/port/logger.ts";
import type { LogFormat } from "../../runtime/process_logs.ts";
import { bytes, choice, milliseconds, SWITCH } from "./readers.ts";
import { type Setting, setting } from "./setting.ts";

const LISTEN_DEFAULT = "127.0.0.1:7460";

/** Rows of the table. */
export const SERVE_SETTINGS: {
  readonly listen: Setting<ListenAddress>;
  readonly existing: Setting<boolean>;
  readonly bodyBytesMax: Setting<number>;
  readonly shutdownMsMax: Setting<number>;
  readonly logFormat: Setting<LogFormat>;
  readonly logLevel: Setting<LogLevel>;
  readonly logRequests: Setting<boolean>;
} = {
  listen: setting(
    addressReader(LISTEN_DEFAULT),
    LISTEN_DEFAULT,
    "where to listen (port 0: any), or unix:PATH",
  ),
  existing: setting(SWITCH, "false", "refuse to make a store where there is none"),
  bodyBytesMax: setting(bytes(1), "67108864", "largest request body"),
  shutdownMsMax: setting(
    milliseconds(1),
    "10000",
    "milliseconds that a shutdown may take",
  ),
  logFormat: setting(choice("text", "json"), "text", "how logs are written: text, json"),
  logLevel: setting(
    choice("debug", "info", "warning", "error"),
    "info",
    "least serious logs: debug, info, warning, error",
  ),
  logRequests: setting(SWITCH, "false", "a log record of every request"),
};
