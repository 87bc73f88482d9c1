/** What a command says: data on stdout, messages and progress on stderr. */
import { TidemarkError } from "../engine/errors.ts";
import type { CliIo } from "../runtime/cli_io.ts";
import { toJson } from "../http/json.ts";

const PROGRESS_INTERVAL_MS = 200;
const CLEAR_LINE = "\r\x1b[K";

/** Writes for people, or with `--json` for programs. */
export class Report {
  readonly #io: CliIo;
  readonly isJson: boolean;
  #progressAtMs = -Infinity;
  #hasProgress = false;

  constructor(io: CliIo, isJson: boolean) {
    this.#io = io;
    this.isJson = isJson;
  }

  /** The result: text for people, a value for programs; on stdout. */
  async result(text: string, value: unknown): Promise<void> {
    try {
      await this.announce(text, value);
    } catch (error) {
      throw error instanceof TidemarkError ? withoutAnswer(error) : error;
    }
  }

  /** The same in the midst of the work: where it can't be written the work ends. */
  async announce(text: string, value: unknown): Promise<void> {
    this.endProgress();
    const line = this.isJson ? toJson(value) : text;
    await this.#io.writeOutput(new TextEncoder().encode(`${line}\n`));
  }

  /** A message for people, on stderr; with `--json` a value, as a line of JSON. */
  message(text: string, value: unknown): void {
    this.note(this.isJson ? toJson(value) : text);
  }

  /** A message, on stderr. */
  note(text: string): void {
    this.endProgress();
    this.#io.writeError(`${text}\n`);
  }

  /** A question, on stderr; the answer is typed behind it. */
  ask(question: string): void {
    this.endProgress();
    this.#io.writeError(`${question} `);
  }

  /** How far a long work is, where a person watches; `text` is asked for a few times a second. */
  progress(text: () => string): void {
    if (!this.#io.isErrorTerminal || this.isJson) return;
    const nowMs = this.#io.monotonicMs();
    if (nowMs - this.#progressAtMs < PROGRESS_INTERVAL_MS) return;
    this.#progressAtMs = nowMs;
    this.#hasProgress = true;
    this.#io.writeError(`${CLEAR_LINE}${text()}`);
  }

  /** Takes the progress line away. */
  endProgress(): void {
    if (!this.#hasProgress) return;
    this.#hasProgress = false;
    this.#io.writeError(CLEAR_LINE);
  }
}

/** Results are told when the work is done: only its answer is lost. */
function withoutAnswer(cause: TidemarkError): TidemarkError {
  const message = `${cause.message}; what was asked for is done, only its answer is lost`;
  return new TidemarkError(cause.code, message, {
    outcome: "applied",
    details: cause.details,
    cause,
  });
}

/** Rows as aligned columns, the first one the heading. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd())
    .join("\n");
}

/** A size for people. */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${bytes} bytes` : `${value.toFixed(1)} ${units[unit]}`;
}

/** A count with its noun. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
