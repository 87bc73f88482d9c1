/** What a command says: data on stdout, messages and progress on stderr. */
import { TidemarkError } from "../engine/errors.ts";
import type { CliIo } from "../runtime/cli_io.ts";
import { type ProgressFacts, ProgressLine } from "./_progress.ts";
import { toJson } from "../http/json.ts";

const PROGRESS_INTERVAL_MS = 200;
const CLEAR_LINE = "\r\x1b[K";
const TO_LINE_END = "\x1b[K";
const UTF_8 = /utf-?8/i;

/** Writes for people, or with `--json` for programs. */
export class Report {
  readonly #io: CliIo;
  readonly isJson: boolean;
  #progressAtMs = -Infinity;
  #hasProgress = false;
  readonly #line: ProgressLine;
  /** Whether somebody sees the progress; only then is it worth finding out where the end is. */
  readonly isWatched: boolean;

  constructor(io: CliIo, isJson: boolean) {
    this.#io = io;
    this.isJson = isJson;
    const { TERM, LC_ALL, LC_CTYPE, LANG } = io.env;
    // A dumb terminal can't write over what stands there.
    this.isWatched = io.isErrorTerminal && !isJson && TERM !== "dumb";
    this.#line = new ProgressLine(UTF_8.test((LC_ALL || LC_CTYPE || LANG) ?? ""));
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

  /** How far a long work is, where a person watches; `of` is asked for a few times a second. */
  progress(of: () => ProgressFacts | string): void {
    if (!this.isWatched) return;
    const nowMs = this.#io.monotonicMs();
    if (nowMs - this.#progressAtMs < PROGRESS_INTERVAL_MS) return;
    this.#progressAtMs = nowMs;
    this.#hasProgress = true;
    const text = this.#line.draw(of(), nowMs, this.#io.errorColumns());
    // The rest is cleared afterwards: a line that is cleared first flickers.
    this.#io.writeError(`\r${text}${TO_LINE_END}`);
  }

  /** The same pieces, while it shows how many bytes have passed. */
  async *watch<Piece extends Uint8Array>(
    pieces: AsyncIterable<Piece>,
    { label, total }: Pick<ProgressFacts, "label" | "total">,
  ): AsyncGenerator<Piece> {
    let done = 0;
    for await (const piece of pieces) {
      yield piece;
      done += piece.length;
      this.progress(() => ({ label, done, total, unit: "bytes" }));
    }
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
