/** What ends or shortens a writer, in a store that nobody else works on: a checkpoint makes it take effect. */
import { TidemarkError } from "../../engine/errors.ts";
import type { CheckpointDetails, CheckpointOptions, WriterPosition } from "../../engine/types.ts";
import { openReadStore } from "../target/open_target.ts";
import type { ReadTarget } from "../target/target.ts";
import { UsageError } from "../_usage_error.ts";
import { jsonOption } from "../_values.ts";
import type { CommandContext, CommandOption } from "../command.ts";

/** The option that gives the metadata of that checkpoint. */
export const METADATA_OPTION: CommandOption = {
  type: "string",
  value: "JSON",
  about: "metadata of the checkpoint that it makes (the newest one's)",
  only: { side: "store", because: "the pipeline makes the checkpoint" },
};

/** What would be done. */
export interface WriterPlan {
  readonly position: WriterPosition;
  /** What the checkpoint says that is made for it; none where the pipeline makes it. */
  readonly options: CheckpointOptions;
}

/** Looks at the writer, and at what a checkpoint must say; without owning the job. */
export async function planOfWriter(
  context: CommandContext,
  job: string,
  writer: string,
  action: string,
): Promise<WriterPlan> {
  await using store = await openReadStore(context);
  await using reader = await store.reader(job);
  const writers = await reader.writers();
  const position = writers.find((one) => one.writer === writer);
  if (position === undefined) {
    throw new TidemarkError(
      "writer-not-found",
      `Cannot ${action} writer ${writer} of job ${job}: there is no such writer; ls lists them`,
      { details: { job, writer } },
    );
  }
  if (context.settings.sidecar !== undefined) return { position, options: {} };
  return { position, options: await checkpointOptions(context, reader, writers, action) };
}

/** A pipeline that resumes at the checkpoint must find what it needs to know where its source goes on. */
async function checkpointOptions(
  { options }: CommandContext,
  reader: ReadTarget,
  writers: readonly WriterPosition[],
  action: string,
): Promise<CheckpointOptions> {
  const head = (await reader.checkpoints()).find(({ isHead }) => isHead);
  const details = head && await reader.checkpointDetails(head.uuid);
  // A checkpoint has the states that are named: without this they would be lost to who restores it.
  const states = Object.fromEntries(
    (details?.states ?? []).map(({ name }) => [name, { from: "latest" }]),
  );
  if (options.flag("metadata")) return { metadata: jsonOption(options, "metadata"), states };
  const more = writers.find((one) => one.nextOffset > offsetIn(details, one.writer));
  if (more === undefined) {
    const { metadata, steps, processedRecords } = details ?? {};
    return { metadata, steps, processedRecords, states };
  }
  const since = head === undefined ? "there is no checkpoint" : `since checkpoint ${head.uuid}`;
  throw new UsageError(
    `Cannot ${action}: writer ${more.writer} has changes that no checkpoint holds (${since}), so its ` +
      "metadata would not fit; give --metadata, or null where the pipeline needs none",
    action,
  );
}

function offsetIn(details: CheckpointDetails | undefined, writer: string): number {
  return details?.writers.find((one) => one.writer === writer)?.nextOffset ?? 0;
}
