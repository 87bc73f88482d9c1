/**
 * `ls`: the jobs of a store, or the checkpoints and writers of a job.
 * @module
 */
import type { CheckpointMetadata, WriterPosition } from "../../engine/types.ts";
import { JOB_OPTION, openReadStore, PLACE_OPTIONS } from "../target/open_target.ts";
import { formatBytes, formatTable } from "../_format.ts";
import { checkpointStates } from "./_checkpoint_states.ts";
import type { ReadStore } from "../target/target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const LS: Command = {
  name: "ls",
  about: "List the jobs of a store, or a job's checkpoints and writers",
  options: { job: { ...JOB_OPTION, isRequired: false }, ...PLACE_OPTIONS },
  sides: BOTH_SIDES,
  run,
};

async function run(context: CommandContext): Promise<number> {
  await using store = await openReadStore(context);
  const job = context.options.text("job");
  if (job === undefined) await listJobs(context, store);
  else await listJob(context, store, job);
  return EXIT_OK;
}

async function listJobs({ report }: CommandContext, store: ReadStore): Promise<void> {
  const jobs = await store.jobs();
  if (jobs.length === 0 && !report.isJson) return report.note(`No jobs in ${store.location}`);
  await report.result(jobs.join("\n"), { jobs: jobs.map((job) => ({ job })) });
}

async function listJob({ report }: CommandContext, store: ReadStore, job: string): Promise<void> {
  await using reader = await store.reader(job);
  const checkpoints = await reader.checkpoints();
  // What the checkpoints hold can be restored even where the tail is damaged.
  const writers = await reader.writers().catch((error) => new UnreadTail(error));
  const text = [
    checkpoints.length === 0 ? "No checkpoints" : checkpointTable(checkpoints),
    writers instanceof UnreadTail
      ? "Writers unknown: the tail can't be read"
      : writers.length === 0
      ? "No writers"
      : writerTable(writers),
  ].join("\n\n");
  const isUnread = writers instanceof UnreadTail;
  await report.result(text, { job, checkpoints, writers: isUnread ? null : writers });
  if (isUnread) throw writers.error;
}

class UnreadTail {
  constructor(readonly error: unknown) {}
}

function checkpointTable(checkpoints: readonly CheckpointMetadata[]): string {
  const rows = checkpoints.map((checkpoint) => [
    checkpoint.uuid,
    new Date(checkpoint.createdAtMs).toISOString(),
    String(checkpoint.run),
    formatBytes(checkpoint.size),
    checkpointStates(checkpoint),
    checkpoint.identifier ?? "",
  ]);
  return formatTable([["CHECKPOINT", "CREATED", "RUN", "SIZE", "STATE", "IDENTIFIER"], ...rows]);
}

function writerTable(writers: readonly WriterPosition[]): string {
  const rows = writers.map((writer) => [
    writer.writer,
    String(writer.nextOffset),
    String(writer.durableOffset),
    writer.keyGroups.join(" to "),
  ]);
  return formatTable([["WRITER", "NEXT OFFSET", "DURABLE", "KEY GROUPS"], ...rows]);
}
