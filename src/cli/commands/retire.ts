/**
 * `retire`: ends a writer that goes away.
 * @module
 */
import { TidemarkError } from "../../engine/errors.ts";
import type { CheckpointDetails, CheckpointOptions, WriterPosition } from "../../engine/types.ts";
import { confirm, requireAssent, YES_OPTION } from "../_confirm.ts";
import { openReadStore, openTarget, OWN_OPTIONS, WRITER_OPTION } from "../target/open_target.ts";
import type { ReadTarget } from "../target/target.ts";
import { UsageError } from "../_usage_error.ts";
import { jsonOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const RETIRE: Command = {
  name: "retire",
  about: "End a writer that goes away: the next checkpoint is the last that holds it",
  options: {
    ...OWN_OPTIONS,
    writer: WRITER_OPTION,
    metadata: {
      type: "string",
      value: "JSON",
      about: "metadata of the checkpoint that it makes (the newest one's)",
      only: { side: "store", because: "the pipeline makes the checkpoint" },
    },
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

interface Plan {
  readonly position: WriterPosition;
  /** What the checkpoint says that is made for it. */
  readonly options: CheckpointOptions;
}

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const [job, writer] = [options.required("job"), options.required("writer")];
  const [isLook, isRemote] = [options.flag("dry-run"), context.settings.sidecar !== undefined];
  if (!isLook) requireAssent(context, "retire", "--dry-run");
  const plan = await planOf(context, job, writer, isRemote);
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

async function planOf(
  context: CommandContext,
  job: string,
  writer: string,
  isRemote: boolean,
): Promise<Plan> {
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const writers = await reader.writers();
  const position = writers.find((one) => one.writer === writer);
  if (position === undefined) {
    throw new TidemarkError(
      "writer-not-found",
      `Cannot retire writer ${writer} of job ${job}: there is no such writer; ls lists them`,
      { details: { job, writer } },
    );
  }
  if (isRemote) return { position, options: {} };
  return { position, options: await checkpointOptions(context, reader, writers) };
}

/** A pipeline that resumes at the checkpoint must find what it needs to know where its source goes on. */
async function checkpointOptions(
  { options }: CommandContext,
  reader: ReadTarget,
  writers: readonly WriterPosition[],
): Promise<CheckpointOptions> {
  if (options.flag("metadata")) return { metadata: jsonOption(options, "metadata") };
  const head = (await reader.checkpoints()).find(({ isHead }) => isHead);
  const details = head && await reader.checkpointDetails(head.uuid);
  const more = writers.find((one) => one.nextOffset > offsetIn(details, one.writer));
  if (more === undefined) {
    const { metadata, steps, processedRecords } = details ?? {};
    return { metadata, steps, processedRecords };
  }
  const since = head === undefined ? "there is no checkpoint" : `since checkpoint ${head.uuid}`;
  throw new UsageError(
    `Cannot retire: writer ${more.writer} has changes that no checkpoint holds (${since}), so its ` +
      "metadata would not fit; give --metadata, or null where the pipeline needs none",
    "retire",
  );
}

function offsetIn(details: CheckpointDetails | undefined, writer: string): number {
  return details?.writers.find((one) => one.writer === writer)?.nextOffset ?? 0;
}
