/** A logger whose records a test reads. @module */
import type { Logger, LogLevel } from "../../src/engine/port/logger.ts";

/** One record. */
export interface LogRecord {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A {@link Logger} that keeps everything. */
export class RecordingLogger implements Logger {
  readonly records: LogRecord[] = [];

  log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.records.push({ level, message, fields });
  }

  /** Messages of one level. */
  messages(level: LogLevel): string[] {
    return this.records.filter((record) => record.level === level).map((record) => record.message);
  }
}
