/**
 * `retire`: ends a writer that goes away.
 * @module
 */
import { confirm, requireAssent, YES_OPTION } from "../_confirm.ts";
import { openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { METADATA_OPTION, planOfWriter } from "./_writer_plan.ts";

/** The command. */
export const RETIRE: Command = {
  name: "retire",
  about: "End a writer that goes away: the next checkpoint is the last that holds it",
  options: {
    ...OWN_OPTIONS,
    writer: WRITER_OPTION,
    metadata: METADATA_OPTION,
    "dry-run": { type: "boolean", about: "only say what would be done" },
    yes: YES_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "At a sidecar (--url) it takes effect with the pipeline's next checkpoint. With --store nobody else",
    "would make one, so it makes one itself. Its name is free again in the job's next run.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const [job, writer] = [options.required("job"), options.required("writer")];
  const [isLook, isRemote] = [options.flag("dry-run"), context.settings.sidecar !== undefined];
  if (!isLook) requireAssent(context, "retire", "--dry-run");
  const plan = await planOfWriter(context, job, writer, "retire");
  const end = `Writer ${writer} of job ${job} ends at offset ${plan.position.nextOffset}`;
  const last = isRemote ? "the pipeline's next checkpoint" : "a checkpoint that is made now";
  const text = `${end}: ${last} is the last that holds its changes`;
  const value = { job, ...plan.position };
  if (isLook) {
    await report.result(text, { ...value, isDryRun: true });
    return EXIT_OK;
  }
  await confirm(context, text);
  await using target = await openTarget(context, "own");
  await target.retireWriter(writer);
  const made = isRemote ? undefined : await target.checkpoint(plan.options);
  const held = made === undefined ? last : `checkpoint ${made.uuid}`;
  await report.result(`${end}: ${held} is the last that holds its changes`, {
    ...value,
    isClosed: true,
    checkpoint: made?.uuid ?? null,
  });
  return EXIT_OK;
}
