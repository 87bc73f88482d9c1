/**
 * `gc`: removes the checkpoints that retention lets go, and the objects that nothing needs.
 * @module
 */
import { TidemarkError } from "../../engine/errors.ts";
import type { CollectionOptions, CollectionReport } from "../../engine/types.ts";
import { confirm, DRY_RUN_OPTION, requireAssent, YES_OPTION } from "../_confirm.ts";
import { openTarget, OWN_OPTIONS } from "../target/open_target.ts";
import { formatBytes, formatCount, formatTable } from "../_format.ts";
import type { Target } from "../target/target.ts";
import { uuidListOption } from "../_values.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import { EXIT_CODE_OF, EXIT_OK } from "../exit_codes.ts";

/** The command. */
export const GC: Command = {
  name: "gc",
  about: "Remove the checkpoints that retention lets go, and what nothing needs",
  options: {
    ...OWN_OPTIONS,
    except: { type: "string", value: "UUID,UUID", about: "checkpoints that stay in any case" },
    now: { type: "boolean", about: "remove at once what else rests for 10 minutes first" },
    "dry-run": DRY_RUN_OPTION,
    explain: {
      type: "string",
      value: "KEY",
      about: "only say why this object, or the checkpoint of this uuid, goes or stays",
    },
    yes: YES_OPTION,
  },
  sides: BOTH_SIDES,
  notes: [
    "On a terminal it shows its plan and asks; elsewhere it wants --yes. What goes rests with its bytes",
    "in place first: pin it, or name it with --except, and it stays after all. An owner that is new,",
    "as this command is with --store, deletes change files only once it has made a checkpoint itself.",
    `The exit code is ${EXIT_CODE_OF.unavailable} when something could not be deleted.`,
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { options, report } = context;
  const [job, explained] = [options.required("job"), options.text("explain")];
  const wanted: CollectionOptions = {
    except: uuidListOption(options, "except"),
    quarantineMs: options.flag("now") ? 0 : undefined,
    onProgress: ({ done, total }) =>
      report.progress(() => ({ label: "deleting", done, total, unit: "object" })),
  };
  const isLook = options.flag("dry-run") || explained !== undefined;
  if (!isLook) requireAssent(context, "gc", "--dry-run");
  await using target = await openTarget(context, "own");
  if (explained !== undefined) return await explain(context, target, wanted, explained);
  const found = isLook
    ? await target.collect({ ...wanted, dryRun: true })
    : await collect(context, target, wanted);
  await report.result(describe(job, found), { job, ...found });
  return found.problems.length === 0 ? EXIT_OK : EXIT_CODE_OF.unavailable;
}

async function collect(
  context: CommandContext,
  target: Target,
  wanted: CollectionOptions,
): Promise<CollectionReport> {
  if (!context.options.flag("yes")) {
    const plan = await target.collect({ ...wanted, dryRun: true });
    await confirm(context, describe(context.options.required("job"), plan));
  }
  return await target.collect(wanted);
}

async function explain(
  { options, report }: CommandContext,
  target: Target,
  wanted: CollectionOptions,
  key: string,
): Promise<number> {
  const { size, action, reason, ...found } = await target.explain(key, wanted);
  if (action === "none") {
    throw new TidemarkError("object-not-found", `Cannot explain ${key}: ${reason}`, {
      details: { job: options.required("job"), key },
    });
  }
  const bytes = size === undefined ? "" : `, ${formatBytes(size)}`;
  const text = `${found.key} ${action === "keep" ? "stays" : "goes"}${bytes}: ${reason}`;
  await report.result(text, { job: options.required("job"), ...found, size, action, reason });
  return EXIT_OK;
}

function describe(job: string, found: CollectionReport): string {
  const { isDryRun, objects, problems, quarantined, removed, verdicts } = found;
  const rows = verdicts.map(({ uuid, stays, reason }) => [
    uuid,
    fateOf(found, uuid, stays),
    reason,
  ]);
  const going = objects.filter(({ action }) => action === "delete");
  const goingBytes = going.reduce((sum, { size }) => sum + size, 0);
  const sentence = [
    `${isDryRun ? "would remove" : "removed"} ${formatCount(removed.length, "checkpoint")}`,
    `put ${quarantined.length} to rest`,
    isDryRun
      ? `delete ${going.length} of ${formatCount(objects.length, "object")}, ` +
        formatBytes(goingBytes)
      : `deleted ${formatBytes(found.deletedBytes)}`,
  ].join(", ");
  return [
    ...(rows.length === 0 ? [] : [formatTable([["CHECKPOINT", "FATE", "WHY"], ...rows])]),
    ...(isDryRun ? going.map(({ key, reason }) => `delete ${key}: ${reason}`) : []),
    ...problems.map(({ key, reason }) => `not deleted: ${key}: ${reason}`),
    `Job ${job}: ${sentence}`,
  ].join("\n");
}

function fateOf({ quarantined, removed }: CollectionReport, uuid: string, stays: boolean): string {
  if (stays) return "stays";
  if (removed.includes(uuid)) return "goes";
  return quarantined.includes(uuid) ? "goes to rest" : "rests";
}
