/**
 * `tail`: changes of a job as they become durable.
 * @module
 */
import { CHANGE_FORMATS } from "../_input.ts";
import { MIXED_FORMATS, mixedLines, WRITERS_OF } from "../_output.ts";
import { StopRequest } from "../_stop_request.ts";
import { openReadStore, TARGET_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { UsageError } from "../_usage_error.ts";
import { choiceOption, countOption, durationOption, formatDuration } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF_SIGNAL, EXIT_OK } from "../exit_codes.ts";
import { type ChangeOutput, Follower } from "./_follower.ts";

const INTERVAL_MS = 1000;
const INTERVAL_MS_MIN = 10;
/** A look at a long tail takes its time; it rests so many times as long, to leave disk and CPU to the owner. */
const REST_SHARE = 4;

/** The command. */
export const TAIL: Command = {
  name: "tail",
  about: "Print changes as they become durable, until a signal ends it",
  options: {
    ...TARGET_OPTIONS,
    writer: { ...WRITER_OPTION, about: "one writer, in place of all", isRequired: false },
    from: { type: "string", value: "N", about: "first offset (those that come from now on)" },
    interval: {
      type: "string",
      value: "TIME",
      about: `how often it looks (${formatDuration(INTERVAL_MS)})`,
    },
    format: { type: "string", value: "FORMAT", about: "lines (default), ndjson or cborseq" },
  },
  sides: BOTH_SIDES,
  notes: [
    "Works beside the owner. Of all writers each line says whose it is: lines with a prefix, ndjson with",
    "writer and offset; cborseq needs --writer. What a resume or a crash took back is told on stderr,",
    "and what comes in its place is printed. A sidecar that is away is waited for. On a folder the last",
    "batch may be one that its owner has not acknowledged yet; a sidecar gives what is durable.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, report } = context;
  const job = options.required("job");
  const writer = options.text("writer");
  const from = countOption(options, "from");
  const intervalMs = durationOption(options, "interval") ?? INTERVAL_MS;
  if (intervalMs < INTERVAL_MS_MIN) {
    throw new UsageError(`Cannot use --interval ${intervalMs}ms: wants at least 10ms`);
  }
  const output = outputOf(context, writer);
  const stop = new StopRequest(io);
  try {
    await using store = await openReadStore(context);
    const follower = new Follower({ store, job, writer, from, output, report, stop });
    await follower.begin();
    let tookMs = 0;
    while (stop.signal === undefined) {
      const waitMs = Math.max(intervalMs, tookMs * REST_SHARE);
      await Promise.race([io.sleep(waitMs), stop.requested]);
      const beganMs = io.monotonicMs();
      const polling = follower.poll();
      polling.catch(() => {
        // Whoever awaits it tells of it; after a signal nobody does.
      });
      await Promise.race([polling, stop.requested]);
      tookMs = io.monotonicMs() - beganMs;
    }
    report.message(follower.standing(), { job, writers: follower.positions() });
  } finally {
    stop.ignore();
  }
  return stop.signal === undefined ? EXIT_OK : EXIT_CODE_OF_SIGNAL[stop.signal];
}

/** What writes a piece of a writer's changes. @throws {UsageError} */
function outputOf({ io, options }: CommandContext, writer: string | undefined): ChangeOutput {
  const format = choiceOption(options, "format", CHANGE_FORMATS) ?? "lines";
  if (writer !== undefined) return (bytes) => io.writeOutput(WRITERS_OF[format](bytes));
  const mixed = MIXED_FORMATS.find((one) => one === format);
  if (mixed === undefined) {
    throw new UsageError(
      `Cannot use --format ${format} without --writer: it can't say whose is what`,
    );
  }
  return (bytes, place) => io.writeOutput(mixedLines(mixed, bytes, place));
}
