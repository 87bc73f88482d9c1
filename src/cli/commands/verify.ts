/**
 * `verify`: whether all that a job's checkpoints need is there, and with `--full` whether it is whole.
 * @module
 */
import type { Problem, VerifyReport } from "../../engine/types.ts";
import { openReadStore, TARGET_OPTIONS } from "../target/open_target.ts";
import { formatBytes, formatCount } from "../_format.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF, EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const VERIFY: Command = {
  name: "verify",
  about: "Check that all that a job's checkpoints need is there, or every checksum",
  options: {
    ...TARGET_OPTIONS,
    full: { type: "boolean", about: "read everything and check every checksum" },
  },
  sides: BOTH_SIDES,
  notes: [
    "Without --full it looks whether everything is there with its size, and reads every manifest.",
    `The exit code is ${EXIT_CODE_OF.corrupt} when something is bad.`,
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.required("job");
  const level = options.flag("full") ? "full" : "quick";
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  report.progress(() => `verifying job ${job}`);
  const found = await reader.verify({
    level,
    onProgress: ({ done, total }) =>
      report.progress(() => ({ label: `verifying job ${job}`, done, total, unit: "file" })),
  });
  const text = [...found.problems.map(describeProblem), describe(job, level, found)].join("\n");
  await report.result(text, { job, level, ...found });
  return found.ok ? EXIT_OK : EXIT_CODE_OF.corrupt;
}

function describe(job: string, level: "quick" | "full", found: VerifyReport): string {
  const { ok, checkpoints, files, states, changes, bytes } = found;
  const counts = [
    formatCount(checkpoints, "checkpoint"),
    formatCount(files, "file"),
    ...(states > 0 ? [formatCount(states, "state")] : []),
  ].join(", ");
  if (level === "full") {
    return `Job ${job} is ${ok ? "whole" : "damaged"}: ${counts}, ` +
      `${formatCount(changes, "change")}, ${formatBytes(bytes)} read`;
  }
  return ok
    ? `Job ${job} has all it needs: ${counts}; --full checks every checksum`
    : `Job ${job} is damaged: ${counts}`;
}

function describeProblem({ key, reason, from, to }: Problem): string {
  const range = from === undefined ? "" : `, bytes ${from} to ${to ?? "its end"}`;
  return `bad: ${key}${range}: ${reason}`;
}
