/**
 * `verify`: reads all that a job's checkpoints need and checks every checksum.
 * @module
 */
import type { Problem } from "../engine/types.ts";
import { JOB_OPTION } from "./_open_target.ts";
import { formatBytes, formatCount } from "./_report.ts";
import { openNamedStore, STORE_OPTION } from "./_store.ts";
import type { Command, CommandContext } from "./command.ts";
import { EXIT_CODE_OF, EXIT_OK } from "./exit_codes.ts";

/** The command. */
export const VERIFY: Command = {
  name: "verify",
  about: "Check every checksum of what a job's checkpoints need",
  options: { job: JOB_OPTION, store: STORE_OPTION },
  notes: [`The exit code is ${EXIT_CODE_OF.corrupt} when something is bad.`],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.required("job");
  await using store = await openNamedStore(context, { mode: "read", create: false });
  await using reader = await store.reader(job);
  report.progress(() => `verifying job ${job}`);
  const found = await reader.verify();
  const text = [
    ...found.problems.map(describeProblem),
    `Job ${job} is ${found.ok ? "whole" : "damaged"}: ` +
    `${formatCount(found.checkpoints, "checkpoint")}, ${formatCount(found.files, "file")}, ` +
    `${formatCount(found.changes, "change")}, ${formatBytes(found.bytes)} read`,
  ].join("\n");
  await report.result(text, { job, ...found });
  return found.ok ? EXIT_OK : EXIT_CODE_OF.corrupt;
}

function describeProblem({ key, reason, from, to }: Problem): string {
  const range = from === undefined ? "" : `, bytes ${from} to ${to ?? "its end"}`;
  return `bad: ${key}${range}: ${reason}`;
}
