/** Log records on stderr, one line each. @module */
import process from "node:process";
import type { Logger, LogLevel } from "../engine/port/logger.ts";

const ORDER: readonly LogLevel[] = ["debug", "info", "warning", "error"];

/** Writes `level message {"field":…}` lines to stderr. */
export class ConsoleLogger implements Logger {
  readonly #from: number;

  /** @param levelMin The least serious level that is written. */
  constructor(levelMin: LogLevel = "info") {
    this.#from = ORDER.indexOf(levelMin);
  }

  log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (ORDER.indexOf(level) < this.#from) return;
    process.stderr.write(formatRecord(level, message, fields) + "\n");
  }
}

/** One record as one line. */
export function formatRecord(
  level: LogLevel,
  message: string,
  fields: Readonly<Record<string, unknown>>,
): string {
  const line = `${level} ${message}`.replaceAll(/[\r\n]+/g, " ");
  return Object.keys(fields).length === 0 ? line : `${line} ${JSON.stringify(fields, toJson)}`;
}

function toJson(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Error ? `${value.name}: ${value.message}` : value;
}
