/** Commands that end or shorten a writer: the next checkpoint makes it take effect. */
import type { WriterPosition } from "../../engine/types.ts";
import { confirm, DRY_RUN_OPTION, requireAssent, YES_OPTION } from "../_confirm.ts";
import type { Command, CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import type { Target } from "../target/target.ts";
import { METADATA_OPTION, planOfWriter } from "./_writer_plan.ts";

/** Options of such a command. */
export const WRITER_COMMAND_OPTIONS: Command["options"] = {
  ...OWN_OPTIONS,
  writer: WRITER_OPTION,
  metadata: METADATA_OPTION,
  "dry-run": DRY_RUN_OPTION,
  yes: YES_OPTION,
};

/** What is done to a writer. */
export interface WriterAction {
  readonly name: "retire" | "truncate";
  /** What comes of it, for people. */
  describe(position: WriterPosition, job: string, checkpoint: string): string;
  /** What comes of it, as JSON. */
  asJson(position: WriterPosition): object;
  /** Asks for it; answers how the writer stands then. */
  apply(target: Target, position: WriterPosition): Promise<WriterPosition>;
}

/** Looks, asks, does it, and makes the checkpoint where no pipeline would. */
export async function changeWriter(context: CommandContext, action: WriterAction): Promise<number> {
  const { options, report } = context;
  const [job, writer] = [options.required("job"), options.required("writer")];
  const [isLook, isRemote] = [options.flag("dry-run"), context.settings.sidecar !== undefined];
  if (!isLook) requireAssent(context, action.name, "--dry-run");
  const plan = await planOfWriter(context, job, writer, action.name);
  const next = isRemote ? "the pipeline's next checkpoint" : "a checkpoint that is made now";
  const text = action.describe(plan.position, job, next);
  if (isLook) {
    await report.result(text, { job, ...action.asJson(plan.position), isDryRun: true });
    return EXIT_OK;
  }
  await confirm(context, text);
  await using target = await openTarget(context, "own");
  const position = await action.apply(target, plan.position);
  const made = isRemote ? undefined : await target.checkpoint(plan.options);
  const checkpoint = made === undefined ? next : `checkpoint ${made.uuid}`;
  await report.result(action.describe(position, job, checkpoint), {
    job,
    ...action.asJson(position),
    checkpoint: made?.uuid ?? null,
  });
  return EXIT_OK;
}
