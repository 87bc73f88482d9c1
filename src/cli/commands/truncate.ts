/**
 * `truncate`: gives up what a writer holds by now.
 * @module
 */
import { confirm, requireAssent, YES_OPTION } from "../_confirm.ts";
import { openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { METADATA_OPTION, planOfWriter } from "./_writer_plan.ts";

/** The command. */
export const TRUNCATE: Command = {
  name: "truncate",
  about: "Give up all that a writer holds by now, as the pipeline has it elsewhere",
  options: {
    ...OWN_OPTIONS,
    writer: WRITER_OPTION,
    metadata: METADATA_OPTION,
    "dry-run": { type: "boolean", about: "only say what would be done" },
    yes: YES_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "Such as in a state: from the next checkpoint on the writer begins where it stands now. At a sidecar",
    "(--url) that is the pipeline's next one. With --store nobody else would make one, so it makes one",
    "itself, with the states of the newest. Older checkpoints keep what they hold.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const [job, writer] = [options.required("job"), options.required("writer")];
  const [isLook, isRemote] = [options.flag("dry-run"), context.settings.sidecar !== undefined];
  if (!isLook) requireAssent(context, "truncate", "--dry-run");
  const plan = await planOfWriter(context, job, writer, "truncate");
  const next = isRemote ? "the pipeline's next checkpoint" : "a checkpoint that is made now";
  const describe = (checkpoint: string, offset: number): string =>
    `Writer ${writer} of job ${job} begins at offset ${offset} from ${checkpoint} on`;
  const { nextOffset } = plan.position;
  if (isLook) {
    await report.result(describe(next, nextOffset), {
      job,
      writer,
      from: nextOffset,
      isDryRun: true,
    });
    return EXIT_OK;
  }
  await confirm(context, describe(next, nextOffset));
  await using target = await openTarget(context, "own");
  const from = await target.truncateWriter(writer);
  const made = isRemote ? undefined : await target.checkpoint(plan.options);
  const checkpoint = made === undefined ? next : `checkpoint ${made.uuid}`;
  await report.result(describe(checkpoint, from), {
    job,
    writer,
    from,
    checkpoint: made?.uuid ?? null,
  });
  return EXIT_OK;
}
