/**
 * `status`: how a store and its jobs are, at a glance.
 * @module
 */
import { formatBytes, formatCount, formatSpan, formatTable } from "../_format.ts";
import { JOB_OPTION, openReadStore, PLACE_OPTIONS } from "../target/open_target.ts";
import type { StoreSummary } from "../target/target.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { type JobState, stateOf, unopened } from "./_job_state.ts";
import { warningsOf } from "./_warnings.ts";

/** So many writers are listed without being asked for. */
const WRITERS_LISTED_MAX = 20;

/** The command. */
export const STATUS: Command = {
  name: "status",
  about: "Show how a store and its jobs are, and what to look after",
  options: {
    job: { ...JOB_OPTION, about: "only this job", isRequired: false },
    ...PLACE_OPTIONS,
  },
  sides: BOTH_SIDES,
  notes: [
    "Only looks: it owns no job. Of a sidecar it shows those jobs alone that it has open, since a look at",
    "another would make the sidecar its owner; --job does that.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { io, options, report } = context;
  await using store = await openReadStore(context);
  const summary = await store.summary();
  const wanted = options.text("job");
  const jobs: JobState[] = [];
  for (const job of wanted === undefined ? await store.jobs() : [wanted]) {
    report.progress(() => `looking at job ${job}`);
    const open = summary.openJobs?.find((one) => one.job === job);
    const isApart = wanted === undefined && summary.openJobs !== undefined && open === undefined;
    jobs.push(
      isApart ? unopened(job) : await stateOf(store, job, { open, isOnly: wanted === job }),
    );
  }
  const nowMs = io.nowMs();
  const warnings = warningsOf(summary, jobs, nowMs);
  const { openJobs: _open, ...facts } = summary;
  const text = [
    describeStore(summary, jobs),
    ...(jobs.length === 0 ? ["No jobs"] : [jobTable(jobs, nowMs)]),
    ...writerTables(jobs, wanted !== undefined),
    ...(warnings.length === 0 ? [] : [warnings.map(({ text }) => `warning: ${text}`).join("\n")]),
  ].join("\n\n");
  await report.result(text, { store: facts, jobs, warnings });
  return EXIT_OK;
}

function describeStore(summary: StoreSummary, jobs: readonly JobState[]): string {
  const { id, location, version, formatVersion, uptimeMs, bytesFree, bytesTotal } = summary;
  const known = jobs.filter(({ bytes }) => bytes !== undefined);
  const used = known.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  const server = uptimeMs === undefined
    ? `looked at by Tidemark ${version}`
    : `served by Tidemark ${version} for ${formatSpan(uptimeMs)}`;
  const room = bytesFree === undefined ? [] : [
    `${formatBytes(bytesFree)} free` +
    (bytesTotal === undefined ? "" : ` of ${formatBytes(bytesTotal)}`),
  ];
  const limit = summary.bytesMax === undefined || summary.bytesUsed === undefined ? [] : [
    `${formatBytes(summary.bytesUsed)} of the ${formatBytes(summary.bytesMax)} that it may take`,
  ];
  const sizes = [`${formatBytes(used)} in ${formatCount(known.length, "job")}`, ...limit, ...room];
  return [
    `Store ${location} (${id}), format ${formatVersion}, ${server}`,
    `  ${sizes.join(", ")}`,
  ].join("\n");
}

function jobTable(jobs: readonly JobState[], nowMs: number): string {
  const rows = jobs.map((state) => {
    if (state.isOpen === false) return [state.job, "", "", "not open here", "", "", "", ""];
    const { job, run, epoch, checkpoints, newestCheckpoint: newest, bytes, sinceCheckpoint } =
      state;
    return [
      job,
      textOf(run),
      textOf(epoch),
      ownerOf(state, nowMs),
      textOf(checkpoints),
      newest ? `${formatSpan(nowMs - newest.createdAtMs)} ago` : newest === null ? "none" : "?",
      textOf(sinceCheckpoint),
      bytes === undefined ? "?" : formatBytes(bytes),
    ];
  });
  const heading = [
    "JOB",
    "RUN",
    "EPOCH",
    "OWNER",
    "CHECKPOINTS",
    "NEWEST",
    "CHANGES SINCE",
    "SIZE",
  ];
  return formatTable([heading, ...rows]);
}

function ownerOf({ owner, isServing, problem }: JobState, nowMs: number): string {
  if (isServing === true) return "this sidecar";
  if (problem !== undefined && isServing === false) return `this sidecar: ${problem.code}`;
  if (owner === undefined) return "not known";
  const who = `${owner.runtime}, process ${owner.pid} on ${owner.host}`;
  return owner.isAlive ? who : `none for ${formatSpan(nowMs - owner.seenAtMs)} (${who})`;
}

function writerTables(jobs: readonly JobState[], isAsked: boolean): string[] {
  const rows = jobs.flatMap(({ job, writers }) =>
    (writers ?? []).map(({ writer, nextOffset, durableOffset, isClosed }) => [
      job,
      writer,
      String(nextOffset),
      String(durableOffset),
      isClosed === true ? "ended" : "",
    ])
  );
  if (rows.length === 0) return [];
  if (rows.length > WRITERS_LISTED_MAX && !isAsked) {
    return [`${formatCount(rows.length, "writer")}; --job JOB lists those of a job`];
  }
  return [formatTable([["JOB", "WRITER", "NEXT OFFSET", "DURABLE", "STATE"], ...rows])];
}

function textOf(count: number | undefined): string {
  return count === undefined ? "?" : String(count);
}
