/** Log records as lines: whatever they hold, one record is one line, and no terminal obeys it. */
import { getJsonLinesFormatter, getTextFormatter, type TextFormatter } from "@logtape/logtape";

/** How records are written. */
export type LogFormat = "json" | "text";

/** A function that writes records, each as a line. */
export function lineFormatter(format: LogFormat): TextFormatter {
  const toLine = format === "json" ? getJsonLinesFormatter() : textFormatter();
  return (record) => escapeControls(toLine(record));
}

function textFormatter(): TextFormatter {
  return getTextFormatter({
    timestamp: "rfc3339",
    level: "FULL",
    category: ".",
    sanitize: { sgr: "escape", newlines: "escape" },
    format: ({ timestamp, level, category, message, record }) =>
      `${timestamp} ${level} ${category}: ${message}${fieldsText(record.properties)}`,
  });
}

function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${valueText(value)}`)
    .join("");
}

function valueText(value: unknown): string {
  return JSON.stringify(value, toJson) ?? "null";
}

function toJson(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Error ? errorText(value) : value;
}

/** An error with its causes, as far as they are errors. */
function errorText(error: Error): string {
  const causes: string[] = [];
  for (let at: unknown = error; at instanceof Error && causes.length < 8; at = at.cause) {
    const parts = at instanceof AggregateError ? ` (${at.errors.map(String).join("; ")})` : "";
    causes.push(`${at.name}: ${at.message}${parts}`);
  }
  return causes.join(", caused by ");
}

/** JSON leaves these as they are; terminals obey some of them, and some turn the text around. */
function escapeControls(line: string): string {
  return line.replaceAll(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
