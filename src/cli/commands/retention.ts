/**
 * `retention`: which checkpoints of a job stay.
 * @module
 */
import type { RetentionPolicy } from "../../engine/types.ts";
import { checkRetention } from "../../engine/checkpoint/retention.ts";
import { openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { formatCount } from "../_format.ts";
import { countOption, durationOption, formatDuration } from "../_values.ts";
import { UsageError } from "../_usage_error.ts";
import { BOTH_SIDES, type Command, type CommandContext, type ParsedOptions } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

const NONE = "none";

/** The command. */
export const RETENTION: Command = {
  name: "retention",
  about: "Show or set which checkpoints of a job stay",
  options: {
    ...OWN_OPTIONS,
    "min-count": { type: "string", value: "N", about: "so many of the newest stay, however old" },
    "max-count": { type: "string", value: "N", about: "not more than so many stay; none: any" },
    "max-age": {
      type: "string",
      value: "TIME",
      about: "what is older goes, such as 36h or 7d; none: any age",
    },
  },
  sides: BOTH_SIDES,
  notes: [
    "Without an option it only shows. What is not given stays as it is. Nothing is removed by this:",
    "that is done after the next checkpoint, or by gc. Pinned checkpoints come on top.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.required("job");
  const change = changeOf(options);
  await using target = await openTarget(context, "own");
  const before = await target.retention();
  const after = change === undefined ? before : check({ ...before, ...change });
  if (change !== undefined) await target.setRetention(after);
  await report.result(`Job ${job} keeps ${describe(after)}`, { job, retention: after });
  return EXIT_OK;
}

/** What the options change; undefined when they change nothing. */
function changeOf(options: ParsedOptions): Partial<RetentionPolicy> | undefined {
  const minCount = countOption(options, "min-count");
  const change: Partial<RetentionPolicy> = {
    ...(minCount === undefined ? {} : { minCount }),
    ...orNone(options, "max-count", "maxCount", countOption),
    ...orNone(options, "max-age", "maxAgeMs", durationOption),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

function orNone(
  options: ParsedOptions,
  name: string,
  field: keyof RetentionPolicy,
  read: (options: ParsedOptions, name: string) => number | undefined,
): Partial<RetentionPolicy> {
  if (!options.flag(name)) return {};
  return { [field]: options.text(name) === NONE ? undefined : read(options, name) };
}

function check(policy: RetentionPolicy): RetentionPolicy {
  try {
    return checkRetention(policy);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message, "retention");
  }
}

function describe({ minCount, maxCount, maxAgeMs }: RetentionPolicy): string {
  const least = `the newest ${formatCount(minCount, "checkpoint")}`;
  if (maxCount === undefined && maxAgeMs === undefined) return least;
  const limits = [
    ...(maxAgeMs === undefined ? [] : [`no older than ${formatDuration(maxAgeMs)}`]),
    ...(maxCount === undefined ? [] : [`at most ${maxCount} in all`]),
  ];
  return `${least}, and older ones: ${limits.join(", ")}`;
}
