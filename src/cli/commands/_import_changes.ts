/** Appends exported changes at their offsets, so that a repeated import is taken once. */
import { hasCode, TidemarkError } from "../../engine/errors.ts";
import { type ExportedRun, type ExportFormat, ExportReader } from "../_export_form.ts";
import { type ReadChangesOptions, readPieces } from "../_input.ts";
import { splitAtEnd } from "../_split_changes.ts";
import { asTidemarkError } from "../../http/problem.ts";
import { formatCount } from "../_format.ts";
import type { Report } from "../_report.ts";
import type { Target } from "../target/target.ts";

/** What is imported, and under which name. */
export interface ImportWish {
  /** Only this writer of the export; all where it is left out. */
  readonly only?: string;
  /** Name of the one writer here. */
  readonly as?: string;
  /** Whether each writer begins at offset 0. */
  readonly isRebased: boolean;
  /** Size of the input, where that is known. */
  readonly inputBytes?: number;
}

/** One import. */
export class ChangeImport {
  readonly #target: Target;
  readonly #wish: ImportWish;
  readonly #report: Report;
  /** By writer of the export: what its offsets are less here. */
  readonly #shifts = new Map<string, number>();
  readonly #ends = new Map<string, number>();
  /** Where the writers stood before. */
  #starts = new Map<string, number>();
  #pipelineRun = 1;
  /** Changes of the export that are durable in the job. */
  changes = 0;
  /** Those of them that were there before. */
  alreadyThere = 0;

  constructor(target: Target, wish: ImportWish, report: Report) {
    this.#target = target;
    this.#wish = wish;
    this.#report = report;
  }

  /** Where the writers that were imported stand. */
  get writers(): { writer: string; nextOffset: number }[] {
    return [...this.#ends].map(([writer, nextOffset]) => ({ writer, nextOffset }));
  }

  /** Imports all of an input; a stop ends it before, with what is whole by then. */
  async run(
    input: AsyncIterable<Uint8Array>,
    format: ExportFormat,
    options: ReadChangesOptions,
  ): Promise<void> {
    this.#pipelineRun = await this.#target.run();
    const writers = await this.#target.writers();
    this.#starts = new Map(writers.map(({ writer, nextOffset }) => [writer, nextOffset]));
    try {
      await this.#run(input, new ExportReader(format), options);
    } catch (error) {
      throw this.#withStanding(error);
    }
  }

  async #run(
    input: AsyncIterable<Uint8Array>,
    reader: ExportReader,
    options: ReadChangesOptions,
  ): Promise<void> {
    let isStopped = false;
    void options.stopped.then(() => isStopped = true);
    for await (const { value, inputEnd } of readPieces(input, reader.format, options)) {
      for (const run of value) await this.#append(run);
      this.#report.progress(() => ({
        label: "importing",
        done: inputEnd,
        total: this.#wish.inputBytes,
        unit: "bytes",
        more: `${formatCount(this.changes, "change")} durable`,
      }));
    }
    if (isStopped) return;
    reader.checkWhole();
    const { only } = this.#wish;
    if (only === undefined || this.#shifts.has(only)) return;
    throw new TidemarkError(
      "writer-not-found",
      `Cannot import writer ${only}: the export has none`,
      {
        details: { writer: only },
      },
    );
  }

  /** Says how far it came: as a message, or for programs as details of the error. */
  #withStanding(thrown: unknown): unknown {
    const { changes, alreadyThere, writers } = this;
    if (!this.#report.isJson) {
      const more = changes === 0 ? "" : "; repeated, the import takes them once";
      this.#report.note(`${formatCount(changes, "change")} of this input durable${more}`);
      return thrown;
    }
    const error = asTidemarkError(thrown);
    return new TidemarkError(error.code, error.message, {
      outcome: error.outcome,
      details: { ...error.details, imported: { changes, alreadyThere, writers } },
      cause: error,
    });
  }

  async #append({ writer: exported, offset, changes }: ExportedRun): Promise<void> {
    const { only, as, isRebased } = this.#wish;
    if (only !== undefined && exported !== only) return;
    if (!this.#shifts.has(exported)) this.#shifts.set(exported, isRebased ? offset : 0);
    const writer = as ?? exported;
    if (as !== undefined && this.#shifts.size > 1) {
      throw severalWriters(as, [...this.#shifts.keys()]);
    }
    const start = this.#starts.get(writer) ?? 0;
    let next = offset - this.#shifts.get(exported)!;
    for (const part of splitAtEnd(changes, next, start)) {
      const place = { offset: next, run: this.#pipelineRun };
      try {
        next = (await this.#target.append(writer, part, place)).nextOffset;
      } catch (error) {
        throw withAdvice(error, writer, place.offset);
      }
      this.changes += part.count;
      if (place.offset < start) this.alreadyThere += part.count;
    }
    this.#ends.set(writer, next);
  }
}

function severalWriters(as: string, [first, second]: readonly string[]): TidemarkError {
  return new TidemarkError(
    "invalid-request",
    `Cannot import as ${as}: the export has writers ${first} and ${second}; name one with --writer`,
    { details: { as } },
  );
}

/** Says what to do where something else is there, or a gap would be. */
function withAdvice(error: unknown, writer: string, offset: number): unknown {
  const advice = hasCode(error, "offset-conflict")
    ? "import to another job, or to another writer with --writer and --as"
    : hasCode(error, "offset-mismatch")
    ? `the export has it from offset ${offset} on; --rebase begins at 0`
    : undefined;
  if (advice === undefined || !(error instanceof TidemarkError)) return error;
  return new TidemarkError(error.code, `${error.message}; writer ${writer}: ${advice}`, {
    outcome: error.outcome,
    details: error.details,
    cause: error,
  });
}
