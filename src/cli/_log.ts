/** What the engine reports while a command runs: on stderr, for people or as lines of JSON. */
import type { Logger } from "../engine/port/logger.ts";
import { ConsoleLogger } from "../runtime/console_logger.ts";
import type { Report } from "./_report.ts";

/** Where warnings and errors go. */
export function loggerOf(report: Report): Logger {
  if (!report.isJson) return new ConsoleLogger("warning");
  return {
    log(level, message, fields = {}) {
      if (level !== "warning" && level !== "error") return;
      report.message(message, { level, message, fields: plain(fields) });
    },
  };
}

function plain(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value instanceof Error ? String(value) : value]),
  );
}
