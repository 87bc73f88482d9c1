/** Where the engine reports. @module */

/**
 * How serious a record is. `warning`: something was survived; `error`: somebody has to look.
 *
 * @example
 * ```ts
 * import type { LogLevel } from "@tidemark/tidemark";
 *
 * const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "error"];
 * const isShown = (level: LogLevel): boolean => LEVELS.indexOf(level) >= LEVELS.indexOf("info");
 * console.assert(isShown("warning") && !isShown("debug"));
 * ```
 */
export type LogLevel = "debug" | "info" | "warning" | "error";

/**
 * Where the engine reports what no caller waits for. Names and numbers go in `fields`, never into `message`.
 *
 * @example
 * ```ts
 * import { type Logger, openStore } from "@tidemark/tidemark";
 *
 * const logger: Logger = {
 *   log: (level, message, fields = {}) => console.error(level, message, fields),
 * };
 * await using store = await openStore("memory:", { logger });
 * console.assert(store.isNew);
 * ```
 */
export interface Logger {
  /**
   * Takes one record. Must not throw.
   *
   * @param level How serious it is.
   * @param message What happened; the same text each time.
   * @param fields To whom, where, how much. @default {}
   */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * Drops every record: the library is silent unless it is given a logger.
 *
 * @example
 * ```ts
 * import { openStore, SILENT_LOGGER } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:", { logger: SILENT_LOGGER }); // as without it
 * console.assert(store.isNew);
 * ```
 */
export const SILENT_LOGGER: Logger = { log() {} };
