/**
 * `append`: changes from a file or standard input to a writer, in bounded memory.
 * @module
 */
import { TidemarkError } from "../../engine/errors.ts";
import { checkName } from "../../engine/paths.ts";
import type { AppendResult } from "../../engine/types.ts";
import { asTidemarkError } from "../../http/problem.ts";
import type { StopSignal } from "../../runtime/cli_io.ts";
import { CHANGE_FORMATS, type InputPiece, readChanges } from "../_input.ts";
import { openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { formatBytes, formatCount } from "../_format.ts";
import type { Report } from "../_report.ts";
import type { AppendPlace, Target } from "../target/target.ts";
import { splitAtEnd } from "../_split_changes.ts";
import { StopRequest } from "../_stop_request.ts";
import { choiceOption, countOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";

/** An input that pauses for so long is passed on as far as it has come. */
const LULL_MS = 5;

/** The command. */
export const APPEND: Command = {
  name: "append",
  about: "Append changes to a writer, acknowledged when they are durable",
  positional: { name: "FILE", about: "file to read; - or none reads stdin", isRequired: false },
  options: {
    ...OWN_OPTIONS,
    writer: WRITER_OPTION,
    format: { type: "string", value: "FORMAT", about: "lines (default), ndjson or cborseq" },
    offset: {
      type: "string",
      value: "N",
      about: "expected offset of the first change, so that a repeated append is taken once",
    },
    run: { type: "string", value: "N", about: "the pipeline's run, as resume answered it" },
  },
  sides: BOTH_SIDES,
  notes: [
    "Makes the store and the job where they are missing. A signal ends it after the changes under way.",
    "However it ends, it says at which offset the writer stands durably.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, positionals, report } = context;
  const writer = options.required("writer");
  const format = choiceOption(options, "format", CHANGE_FORMATS) ?? "lines";
  const place = { offset: countOption(options, "offset"), run: countOption(options, "run") };
  const [file = "-"] = positionals;
  // All that can be wrong is looked at before the store is made.
  checkName("job", options.required("job"));
  checkName("writer", writer);
  const inputBytes = file === "-" ? undefined : await io.checkFile(file);
  const input = file === "-" ? io.readInput() : io.readFile(file);
  const stop = new StopRequest(io);
  try {
    await using target = await openTarget(context, "append");
    const appending = new Appending(target, { writer, place, inputBytes }, report);
    const lull = () => io.sleep(LULL_MS);
    await appending.run(readChanges(input, format, { lull, stopped: stop.requested }));
    await appending.reportEnd(options.required("job"), stop.signal);
  } finally {
    stop.ignore();
  }
  return stop.signal === undefined ? EXIT_OK : EXIT_CODE_OF_SIGNAL[stop.signal];
}

/** What is appended, and where. */
interface Wanted {
  readonly writer: string;
  readonly place: AppendPlace;
  /** Size of the input, where that is known. */
  readonly inputBytes?: number;
}

/** One append of many pieces. */
class Appending {
  readonly #target: Target;
  readonly #writer: string;
  readonly #place: AppendPlace;
  readonly #inputBytes: number | undefined;
  readonly #report: Report;
  #firstOffset: number | undefined;
  #last: AppendResult | undefined;
  #count = 0;
  #bytes = 0;
  #sent = 0;
  /** Where the writer stood before; only asked for where something may be there already. */
  #startOffset = 0;

  constructor(target: Target, wanted: Wanted, report: Report) {
    this.#target = target;
    this.#writer = wanted.writer;
    this.#place = wanted.place;
    this.#inputBytes = wanted.inputBytes;
    this.#report = report;
  }

  /** Appends every piece; while one is on its way the next one is read. */
  async run(pieces: AsyncIterable<InputPiece>): Promise<void> {
    let underWay: Promise<void> = Promise.resolve();
    try {
      if (this.#place.offset !== undefined) await this.#findStart();
      for await (const piece of pieces) {
        await underWay;
        underWay = this.#append(piece);
        underWay.catch(() => {
          // Whoever awaits it next tells of it.
        });
      }
      await underWay;
    } catch (error) {
      await Promise.allSettled([underWay]);
      throw this.#withStanding(error);
    }
  }

  /** Says how far it came: as a message, or for programs as details of the error. */
  #withStanding(thrown: unknown): unknown {
    if (!this.#report.isJson) {
      this.#report.note(this.#standing());
      return thrown;
    }
    const error = asTidemarkError(thrown);
    const details = { ...error.details, appended: this.#facts() };
    return new TidemarkError(error.code, error.message, {
      outcome: error.outcome,
      details,
      cause: error,
    });
  }

  async #findStart(): Promise<void> {
    const writers = await this.#target.writers();
    this.#startOffset = writers.find(({ writer }) => writer === this.#writer)?.nextOffset ?? 0;
  }

  /** Changes that an earlier append had brought. */
  get #presentCount(): number {
    if (this.#place.offset === undefined || this.#last === undefined) return 0;
    return Math.max(0, Math.min(this.#startOffset, this.#last.nextOffset) - this.#place.offset);
  }

  async #append({ value, inputEnd }: InputPiece): Promise<void> {
    const { offset, run } = this.#place;
    const expected = offset === undefined ? undefined : offset + this.#sent;
    this.#sent += value.count;
    const parts = expected === undefined ? [value] : splitAtEnd(value, expected, this.#startOffset);
    let next = expected;
    for (const changes of parts) {
      const result = await this.#target.append(this.#writer, changes, { offset: next, run });
      next = result.nextOffset;
      this.#firstOffset ??= result.offset;
      this.#last = result;
      this.#count += changes.count;
      this.#bytes += changes.bytes.length;
    }
    this.#report.progress(() => ({
      label: "appending",
      done: inputEnd,
      total: this.#inputBytes,
      unit: "bytes",
      more: `${formatCount(this.#count, "change")} durable`,
    }));
  }

  #standing(): string {
    return this.#last === undefined
      ? `Writer ${this.#writer}: nothing of this input was acknowledged`
      : `Writer ${this.#writer}: ${formatCount(this.#count, "change")} of this input durable, ` +
        `offsets ${this.#firstOffset} to ${
          this.#last.nextOffset - 1
        }; continue at ${this.#last.nextOffset}`;
  }

  #facts(): Readonly<Record<string, unknown>> {
    return {
      count: this.#count,
      bytes: this.#bytes,
      offset: this.#firstOffset ?? null,
      nextOffset: this.#last?.nextOffset ?? null,
      sequenceNumber: this.#last?.sequenceNumber ?? null,
      ack: "durable",
    };
  }

  async reportEnd(job: string, signal: StopSignal | undefined): Promise<void> {
    const to = `${job}/${this.#writer}`;
    const last = this.#last;
    const present = this.#presentCount;
    const text = last === undefined
      ? `Nothing to append to ${to}`
      : `Appended ${formatCount(this.#count - present, "change")} to ${to}, ` +
        (present === 0 ? "" : `${formatCount(present, "change")} already there, `) +
        `${formatBytes(this.#bytes)}, durable; next offset ${last.nextOffset}`;
    const facts = {
      ...this.#facts(),
      ...(present === 0 ? {} : { alreadyThere: present }),
      ...(signal === undefined ? {} : { interrupted: signal }),
    };
    try {
      await this.#report.result(text, { job, writer: this.#writer, ...facts });
    } catch (error) {
      throw error instanceof TidemarkError ? this.#withStanding(error) : error;
    }
    if (signal === undefined || this.#report.isJson) return;
    this.#report.note(`Interrupted after ${formatCount(this.#count, "change")} of this input`);
  }
}
