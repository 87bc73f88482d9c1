/**
 * `delete-job`: deletes a whole job.
 * @module
 */
import { asTidemarkError } from "../../http/problem.ts";
import { confirm, DRY_RUN_OPTION, requireAssent, YES_OPTION } from "../_confirm.ts";
import { formatBytes, formatCount } from "../_format.ts";
import { openReadStore, openStoreTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF, EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const DELETE_JOB: Command = {
  name: "delete-job",
  about: "Delete a whole job: changes, checkpoints, states",
  options: {
    ...OWN_OPTIONS,
    "dry-run": DRY_RUN_OPTION,
    yes: YES_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "On a terminal it says what goes, and wants the job's name typed; elsewhere it wants --yes. Pinned",
    "checkpoints go too. The name is free again; appends of the old job are refused for good.",
    `The exit code is ${EXIT_CODE_OF.unavailable} when something could not be deleted; delete it again.`,
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.required("job");
  const isLook = options.flag("dry-run");
  if (!isLook) requireAssent(context, "delete-job", "--dry-run");
  const plan = await planOf(context, job);
  if (isLook) {
    await report.result(plan.text, { job, isDryRun: true, ...plan.value });
    return EXIT_OK;
  }
  await confirm(context, plan.text, { word: job });
  await using store = await openStoreTarget(context, "own");
  const found = await store.deleteJob(job, {
    takeOver: options.flag("take-over"),
    onProgress: ({ done, total }) =>
      report.progress(() => ({ label: `deleting job ${job}`, done, total, unit: "object" })),
  });
  const text = [
    ...found.problems.map(({ key, reason }) => `not deleted: ${key}: ${reason}`),
    `Deleted job ${job}: ${formatCount(found.checkpoints, "checkpoint")}, ` +
    `${formatCount(found.deletedObjects, "object")}, ${formatBytes(found.deletedBytes)} freed`,
  ].join("\n");
  await report.result(text, { ...found });
  return found.problems.length === 0 ? EXIT_OK : EXIT_CODE_OF.unavailable;
}

/** What would go; without owning the job. One that can't be read can be deleted all the same. */
async function planOf(
  context: CommandContext,
  job: string,
): Promise<{ text: string; value: object }> {
  await using store = await openReadStore(context);
  if (!(await store.jobs()).includes(job)) {
    // Of a deletion that was stopped something may be left.
    return {
      text: `Deletes what may be left of job ${job}: none of that name is listed`,
      value: {},
    };
  }
  try {
    await using reader = await store.reader(job);
    const { bytes, objects, checkpoints } = await reader.usage();
    const pinned = (await reader.checkpoints()).filter(({ pin }) => pin !== undefined).length;
    const text = `Deletes job ${job}: ${formatCount(checkpoints.length, "checkpoint")}` +
      `${pinned === 0 ? "" : ` (${pinned} pinned)`}, ${formatCount(objects, "object")}, ` +
      formatBytes(bytes);
    return { text, value: { bytes, objects, checkpoints: checkpoints.length, pinned } };
  } catch (error) {
    const { code, kind, message } = asTidemarkError(error);
    // Without its catalog it can't be deleted either: salvage comes first.
    if (kind !== "corrupt" || code === "catalog-lost") throw error;
    return {
      text: `Deletes job ${job}, which can't be read: ${message}`,
      value: { problem: code },
    };
  }
}
