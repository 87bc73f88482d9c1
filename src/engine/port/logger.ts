/** How serious a record is. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** Where the engine reports what no caller waits for. Names and numbers go in `fields`, never into `message`. */
export interface Logger {
  /** Takes one record. Must not throw. */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Drops every record: the library is silent unless it is given a logger. */
export const SILENT_LOGGER: Logger = { log() {} };
