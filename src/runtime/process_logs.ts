/**
 * The logs of a process: LogTape, configured to write lines.
 *
 * Owns: LogTape's configuration, while it is open.
 * Does not own: who logs (`log_tape_logger.ts`).
 * @module
 */
import { configureSync, resetSync } from "@logtape/logtape";
import type { Logger, LogLevel } from "../engine/port/logger.ts";
import { lineFormatter, type LogFormat } from "./_log_lines.ts";
import { logTapeLogger } from "./log_tape_logger.ts";

export type { LogFormat } from "./_log_lines.ts";

/** Options of {@link openProcessLogs}. */
export interface ProcessLogsOptions {
  readonly format: LogFormat;
  /** Least serious level that is written. */
  readonly level: LogLevel;
  /** Takes each line. */
  readonly write: (line: string) => void;
}

/** Open logs. */
export interface ProcessLogs {
  /** The logger of one part of the program. */
  logger(part: string): Logger;
  /** Ends them: records are dropped from then on. */
  close(): void;
}

/** Begins to write logs. There is one place for them in a process: the last one opened. */
export function openProcessLogs({ format, level, write }: ProcessLogsOptions): ProcessLogs {
  const toLine = lineFormatter(format);
  configureSync({
    reset: true,
    sinks: { lines: (record) => write(toLine(record)) },
    loggers: [
      { category: ["tidemark"], sinks: ["lines"], lowestLevel: level },
      { category: ["logtape", "meta"], sinks: ["lines"], lowestLevel: "warning" },
    ],
  });
  return { logger: (part) => logTapeLogger(["tidemark", part]), close: resetSync };
}
