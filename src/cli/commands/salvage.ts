/**
 * `salvage`: brings back a job whose catalog is lost, or whose changes or checkpoints are damaged.
 * @module
 */
import type { SalvageReport } from "../../engine/types.ts";
import { confirm, requireAssent, YES_OPTION } from "../_confirm.ts";
import { openStoreTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { formatCount, formatTable } from "../_format.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const SALVAGE: Command = {
  name: "salvage",
  about: "Bring back a job whose catalog is lost, or that is damaged",
  options: {
    ...OWN_OPTIONS,
    "dry-run": { type: "boolean", about: "only say what would be done, and what is lost" },
    accept: { type: "string", value: "PLAN", about: "do it if the plan is still this one" },
    yes: YES_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "It makes the catalog anew from what can be read, and names all that is gone. It deletes nothing.",
    "On a terminal it shows its plan and asks; elsewhere it wants --yes, or --accept with the plan that",
    "--dry-run showed: then nothing is given up but what that plan names. To a job that is well it does",
    "nothing. Stop the process that owns the job first, or ask the sidecar that can't open it (--url).",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const job = options.required("job");
  const isLook = options.flag("dry-run");
  const accepted = options.text("accept");
  if (!isLook && accepted === undefined) {
    requireAssent(context, "salvage", "--dry-run", "it gives up what can't be read");
  }
  await using target = await openStoreTarget(context, isLook ? "read" : "own");
  report.progress(() => `reading all of job ${job}`);
  const plan = await target.salvage(job, { dryRun: true });
  if (isLook || !plan.isNeeded) {
    await report.result(describe(plan), plan);
    return EXIT_OK;
  }
  if (accepted === undefined) await confirm(context, describe(plan));
  const takeOver = options.flag("take-over");
  const done = await target.salvage(job, { accept: accepted ?? plan.id, takeOver });
  await report.result(describe(done), done);
  return EXIT_OK;
}

function describe(found: SalvageReport): string {
  const { checkpoints, lost, notes } = found;
  const rows = checkpoints.map(({ uuid, identifier = "", createdAtMs, isHead, isPinned }) => [
    uuid,
    new Date(createdAtMs).toISOString(),
    [...(isHead ? ["head"] : []), ...(isPinned ? ["pinned"] : [])].join(", "),
    identifier,
  ]);
  return [
    ...(rows.length === 0
      ? []
      : [formatTable([["CHECKPOINT", "MADE AT", "STATE", "IDENTIFIER"], ...rows])]),
    ...lost.checkpoints.map(({ uuid, identifier, problems }) =>
      `lost checkpoint ${uuid}${identifier === undefined ? "" : ` (${identifier})`}: ${
        problems[0].reason
      }`
    ),
    ...lost.changes.map(({ writer, from, to }) =>
      `lost changes of writer ${writer}: offsets ${from} to ${to - 1}`
    ),
    ...lost.objects.map(({ key, reason, from, to }) => {
      const range = from === undefined ? "" : `, bytes ${from} to ${to ?? "its end"}`;
      return `bad: ${key}${range}: ${reason}`;
    }),
    ...(found.isNeeded ? notes.map((note) => `note: ${note}`) : []),
    summary(found),
  ].join("\n");
}

const CATALOG_IS = {
  whole: "its catalog is whole",
  unreadable: "its newest catalog generation can't be read",
  missing: "its catalog is missing",
};

function summary(found: SalvageReport): string {
  const { job, id, isNeeded, isDone, catalog, head, headReason, checkpoints, lost, run } = found;
  if (!isNeeded) return `Job ${job} is well: there is nothing to salvage`;
  const changes = lost.changes.reduce((sum, { from, to }) => sum + to - from, 0);
  const gone = [
    formatCount(lost.checkpoints.length, "checkpoint"),
    `${formatCount(changes, "change")} that are known of`,
    formatCount(lost.objects.length, "object"),
  ].join(", ");
  const base = catalog.generation === undefined
    ? "the manifests"
    : `generation ${catalog.generation}`;
  const goesOn = head === null ? "from nothing" : `from checkpoint ${head}`;
  const sentence = [
    `${CATALOG_IS[catalog.state]}; from ${base}`,
    `${isDone ? "lists" : "would list"} ${formatCount(checkpoints.length, "checkpoint")} and ${
      isDone ? "goes" : "would go"
    } on ${goesOn}, as ${headReason}; lost: ${gone}`,
  ].join(" it ");
  return isDone
    ? `Job ${job} is salvaged, its run is ${run}: ${sentence}`
    : `Job ${job}: ${sentence}\nPlan ${id}`;
}
