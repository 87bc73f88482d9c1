/** Settings of who may ask a sidecar, and of how much each may take. */
import { count, list, milliseconds, path, SWITCH, text } from "./readers.ts";
import { optionalSetting, type Setting, setting } from "./setting.ts";

/** Rows of the table. */
export const SAFETY_SETTINGS: {
  readonly token: Setting<string | undefined>;
  readonly tokenFile: Setting<string | undefined>;
  readonly insecureNoAuth: Setting<boolean>;
  readonly tlsCert: Setting<string | undefined>;
  readonly tlsKey: Setting<string | undefined>;
  readonly corsOrigin: Setting<readonly string[] | undefined>;
  readonly connectionsMax: Setting<number>;
  readonly requestsMax: Setting<number>;
  readonly streamsMax: Setting<number>;
  readonly headMsMax: Setting<number>;
  readonly bodyIdleMsMax: Setting<number>;
  readonly streamIdleMsMax: Setting<number>;
} = {
  token: optionalSetting(
    text("TOKEN", "a token", (token) => token),
    "a token with all rights that serve asks for; --url is asked with it",
    { sources: ["environment"], isSecret: true },
  ),
  tokenFile: optionalSetting(
    path("FILE", "a file"),
    "tokens that serve asks for; --url is asked with the first",
  ),
  insecureNoAuth: setting(
    SWITCH,
    "false",
    "answer without tokens at other addresses than loopback",
  ),
  tlsCert: optionalSetting(path("FILE", "a file"), "certificate chain for TLS, in PEM"),
  tlsKey: optionalSetting(path("FILE", "a file"), "key of the certificate, in PEM"),
  corsOrigin: optionalSetting(
    list("ORIGIN,…", "origins such as https://console.example, with commas between them", originOf),
    "origins whose pages may ask",
  ),
  connectionsMax: setting(count(1, 1_000_000), "1024", "connections at a time, on Node"),
  requestsMax: setting(count(1, 1_000_000), "1024", "requests that are answered at a time"),
  streamsMax: setting(count(1, 1_000_000), "32", "restores and reads of states at a time"),
  headMsMax: setting(
    milliseconds(1000, 255_000),
    "15000",
    "milliseconds for a request's head, on Node",
  ),
  bodyIdleMsMax: setting(
    milliseconds(0),
    "30000",
    "milliseconds in which a body must go on; 0: any",
  ),
  streamIdleMsMax: setting(
    milliseconds(0),
    "300000",
    "milliseconds that a reader may pause; 0: any",
  ),
};

/** An origin as browsers send it; undefined when it is none. */
function originOf(text: string): string | undefined {
  if (!/^https?:\/\/[^\s/?#@,]+$/i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text).origin;
}
