/** The file of settings: one JSON object. */
import type { CliIo } from "../../runtime/cli_io.ts";
import { suggest } from "../_suggest.ts";
import { UsageError } from "../_usage_error.ts";
import { type AbsolutePath, environmentOf, flagOf, type Setting } from "./setting.ts";
import { SETTING_KEYS, type SettingKey, SETTINGS } from "./table.ts";

/** Far more than every setting needs: whatever is longer is another file. */
const FILE_BYTES_MAX = 1024 * 1024;

/** A file's values, not looked at yet. */
export interface SettingsFile {
  /** Absolute path, for people. */
  readonly path: string;
  readonly values: ReadonlyMap<SettingKey, unknown>;
  /** Paths in the file start from its own folder. */
  readonly absolutePath: AbsolutePath;
}

/**
 * Reads a file of settings.
 *
 * @throws {UsageError} It is not JSON, or has a key that does not exist
 * @throws {TidemarkError} It can't be read
 */
export async function readSettingsFile(path: string, io: CliIo): Promise<SettingsFile> {
  const json = parse(path, await readText(path, io));
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new UsageError(`Cannot use ${path}: wants one JSON object, such as {"store": "data"}`);
  }
  const values = new Map<SettingKey, unknown>();
  for (const [key, value] of Object.entries(json)) values.set(checkKey(path, key), value);
  return { path, values, absolutePath: (given) => io.absolutePath(given, io.folderOf(path)) };
}

async function readText(path: string, io: CliIo): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of io.readFile(path)) {
    size += piece.length;
    if (size > FILE_BYTES_MAX) {
      throw new UsageError(`Cannot use ${path}: it is no file of settings, as it is above 1 MiB`);
    }
    pieces.push(piece.slice());
  }
  try {
    const text = pieces.map((piece) => decoder.decode(piece, { stream: true })).join("");
    return text + decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`Cannot use ${path}: it is not UTF-8`);
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(`Cannot use ${path}: it is not JSON: ${error.message}`);
  }
}

function checkKey(path: string, key: string): SettingKey {
  const known = SETTING_KEYS.find((candidate) => candidate === key);
  const isTaken = known !== undefined && (SETTINGS[known] as Setting).sources.includes("file");
  if (isTaken) return known;
  const name = `${JSON.stringify(key)} in ${path}`;
  if (known !== undefined) {
    throw new UsageError(`Cannot use ${name}: it can't be set there, see tidemark config --help`);
  }
  const meant =
    SETTING_KEYS.find((candidate) =>
      [flagOf(candidate), environmentOf(candidate), candidate.toLowerCase()].includes(key) ||
      candidate.toLowerCase() === key.toLowerCase()
    ) ?? suggest(key, SETTING_KEYS);
  throw new UsageError(
    `Cannot use ${name}: there is no such setting` +
      (meant === undefined
        ? "; tidemark config lists them"
        : `; did you mean ${JSON.stringify(meant)}?`),
  );
}
