/**
 * `delete`: deletes one checkpoint.
 * @module
 */
import { confirm, DRY_RUN_OPTION, requireAssent, YES_OPTION } from "../_confirm.ts";
import { openReadStore, openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { formatBytes } from "../_format.ts";
import { parseUuid, UUID_POSITIONAL } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF, EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const DELETE: Command = {
  name: "delete",
  about: "Delete a checkpoint, and what it alone needs",
  positional: UUID_POSITIONAL,
  options: {
    ...OWN_OPTIONS,
    "dry-run": DRY_RUN_OPTION,
    yes: YES_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "On a terminal it shows its plan and asks; elsewhere it wants --yes. The checkpoint that the job",
    "goes on from can't be deleted, nor one that is pinned or being read.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, positionals, report } = context;
  const job = options.required("job");
  const uuid = parseUuid("UUID", positionals[0]);
  const isLook = options.flag("dry-run");
  if (!isLook) requireAssent(context, "delete", "--dry-run");
  const plan = await planOf(context, job, uuid);
  if (isLook) {
    await report.result(plan.text, { job, isDryRun: true, ...plan.value });
    return EXIT_OK;
  }
  await confirm(context, plan.text);
  await using target = await openTarget(context, "own");
  const found = await target.deleteCheckpoint(uuid);
  const text = `Deleted checkpoint ${uuid} of job ${job}, ${formatBytes(found.deletedBytes)} freed`;
  await report.result(text, { job, uuid, ...found });
  return found.problems.length === 0 ? EXIT_OK : EXIT_CODE_OF.unavailable;
}

/** What would go; without owning the job. */
async function planOf(
  context: CommandContext,
  job: string,
  uuid: string,
): Promise<{ text: string; value: unknown & object }> {
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const { createdAtMs, identifier } = await reader.checkpointDetails(uuid);
  const { checkpoints } = await reader.usage();
  const usage = checkpoints.find((one) => one.uuid === uuid)!;
  const name = identifier === undefined ? "" : ` (${identifier})`;
  const text = `Deletes checkpoint ${uuid}${name} of job ${job}, made ${
    new Date(createdAtMs).toISOString()
  }: ${formatBytes(usage.exclusiveBytes)} are its alone, ${
    formatBytes(usage.sharedBytes)
  } are shared and stay`;
  return { text, value: { ...usage } };
}
