/**
 * `du`: the room that a job, or every job of a store, takes.
 * @module
 */
import type { JobUsage } from "../../engine/types.ts";
import { JOB_OPTION, openReadStore, PLACE_OPTIONS } from "../target/open_target.ts";
import { formatBytes, formatTable } from "../_format.ts";
import type { ReadStore } from "../target/target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const DU: Command = {
  name: "du",
  about: "Count the room that a job, or every job of a store, takes",
  options: { job: { ...JOB_OPTION, isRequired: false }, ...PLACE_OPTIONS },
  sides: BOTH_SIDES,
  notes: [
    "Of what a checkpoint needs, its exclusive bytes would go with it; the others are shared with",
    "another checkpoint or the tail.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.text("job");
  await using store = await openReadStore(context);
  if (job === undefined) {
    const jobs: { job: string; usage: JobUsage }[] = [];
    for (const name of await store.jobs()) {
      report.progress(() => `counting job ${name}`);
      jobs.push({ job: name, usage: await usageOf(store, name) });
    }
    const sum = (of: "bytes" | "objects") => jobs.reduce((all, { usage }) => all + usage[of], 0);
    const value = { bytes: sum("bytes"), objects: sum("objects") };
    await report.result(describeAll(jobs, value), {
      ...value,
      jobs: jobs.map(({ job, usage }) => ({ job, ...usage })),
    });
  } else {
    const usage = await usageOf(store, job);
    await report.result(describe(usage), { job, ...usage });
  }
  return EXIT_OK;
}

async function usageOf(store: ReadStore, job: string): Promise<JobUsage> {
  await using reader = await store.reader(job);
  return await reader.usage();
}

function describeAll(
  jobs: readonly { job: string; usage: JobUsage }[],
  all: { bytes: number; objects: number },
): string {
  return formatTable([
    ["JOB", "SIZE", "OBJECTS", "CHECKPOINTS"],
    ...jobs.map(({ job, usage }) => [
      job,
      formatBytes(usage.bytes),
      String(usage.objects),
      String(usage.checkpoints.length),
    ]),
    ["(all)", formatBytes(all.bytes), String(all.objects), ""],
  ]);
}

function describe({ bytes, objects, kinds, checkpoints }: JobUsage): string {
  const rows = Object.keys(kinds).sort().map((kind) => [
    kind,
    formatBytes(kinds[kind].bytes),
    String(kinds[kind].objects),
  ]);
  const byKind = formatTable([
    ["KIND", "SIZE", "OBJECTS"],
    ...rows,
    ["(all)", formatBytes(bytes), String(objects)],
  ]);
  if (checkpoints.length === 0) return `${byKind}\n\nNo checkpoints`;
  const byCheckpoint = formatTable([
    ["CHECKPOINT", "REFERENCED", "EXCLUSIVE", "SHARED"],
    ...checkpoints.map(({ uuid, referencedBytes, exclusiveBytes, sharedBytes }) => [
      uuid,
      ...[referencedBytes, exclusiveBytes, sharedBytes].map(formatBytes),
    ]),
  ]);
  return `${byKind}\n\n${byCheckpoint}`;
}
