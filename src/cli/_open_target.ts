/** Finds the job that the options name, here or at a sidecar. */
import { openLocalTarget } from "./_local_target.ts";
import { openRemoteTarget } from "./_remote_target.ts";
import { STORE_OPTION } from "./_store.ts";
import type { OpenFor, Target } from "./_target.ts";
import { UsageError } from "./_usage_error.ts";
import type { CommandContext, CommandOption } from "./command.ts";

/** The option that names a job. */
export const JOB_OPTION: CommandOption = {
  type: "string",
  value: "JOB",
  about: "name of the job",
  isRequired: true,
};

/** The option that names a writer. */
export const WRITER_OPTION: CommandOption = {
  type: "string",
  value: "WRITER",
  about: "name of the writer",
  isRequired: true,
};

/** Options that say which job, and where it is. */
export const TARGET_OPTIONS: Readonly<Record<string, CommandOption>> = {
  job: JOB_OPTION,
  store: STORE_OPTION,
  url: { type: "string", value: "URL", about: "address of a sidecar, in place of --store" },
};

/** Opens the job that the options name. */
export async function openTarget(context: CommandContext, openFor: OpenFor): Promise<Target> {
  const { options } = context;
  const job = options.required("job");
  const url = options.text("url");
  if (url === undefined) return await openLocalTarget(context, job, openFor);
  for (const name of ["store", "take-over"]) {
    if (!options.flag(name)) continue;
    throw new UsageError(`Cannot use --${name} with --url: name a folder or a sidecar`);
  }
  return await openRemoteTarget(context.io, url, job, openFor);
}
