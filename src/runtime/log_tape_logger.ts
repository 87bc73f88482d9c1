/**
 * The engine's log records as records of LogTape, for programs that use it.
 *
 * Owns: the way from the engine's {@link Logger} to LogTape.
 * Does not own: where LogTape writes, which the program configures.
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Logger } from "../engine/port/logger.ts";

/**
 * A logger that hands each record to LogTape, with its fields as properties. LogTape drops them until
 * the program configures it.
 *
 * @param category Of the records; the first part is `tidemark` in Tidemark's own. @default ["tidemark"]
 * @returns A logger for `openStore` and `createApp`.
 *
 * @example
 * ```ts
 * import { configureSync, type LogRecord } from "@logtape/logtape";
 * import { openStore } from "@tidemark/tidemark";
 * import { logTapeLogger } from "@tidemark/tidemark/logtape";
 *
 * const records: LogRecord[] = [];
 * configureSync({
 *   sinks: { memory: (record) => void records.push(record) },
 *   loggers: [
 *     { category: ["tidemark"], sinks: ["memory"] },
 *     { category: ["logtape", "meta"], sinks: [] },
 *   ],
 * });
 * await using store = await openStore("memory:", { logger: logTapeLogger() });
 * console.assert(store.isNew && records.length === 0); // nothing to report
 * ```
 */
export function logTapeLogger(category: readonly string[] = ["tidemark"]): Logger {
  const logger = getLogger([...category]);
  return {
    log(level, message, fields = {}) {
      const timestamp = Date.now();
      // Not by its methods: they would look for placeholders in the message.
      const properties = { ...fields };
      logger.emit({ timestamp, level, message: [message], rawMessage: message, properties });
    },
  };
}
