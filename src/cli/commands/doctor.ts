/**
 * `doctor`: whether machine, settings and store are fit for work, and what to do where they are not.
 * @module
 */
import { formatCount, formatTable } from "../_format.ts";
import { BOTH_SIDES, type Command, type CommandContext } from "../command.ts";
import type { Check } from "../doctor/check.ts";
import { checkProcess } from "../doctor/process_checks.ts";
import { checkSidecar } from "../doctor/sidecar_checks.ts";
import { checkStore } from "../doctor/store_checks.ts";
import { EXIT_OK } from "../exit_codes.ts";
import { PLACE_OPTIONS } from "../target/open_target.ts";

/** The command. */
export const DOCTOR: Command = {
  name: "doctor",
  about: "Check disk, locks, clock, permissions, room and settings, and say what to do",
  options: { ...PLACE_OPTIONS },
  sides: BOTH_SIDES,
  notes: [
    "Never changes a store: on its disk it writes small files of temporary names, and removes them.",
    "A fault ends it with the exit code of its kind, or 4; warnings do not.",
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const { report, settings } = context;
  const url = settings.sidecar;
  const checks = [
    ...await checkProcess(context),
    ...url === undefined ? await checkStore(context) : await checkSidecar(context, url),
  ];
  const faults = checks.filter(({ result }) => result === "fault");
  const warnings = checks.filter(({ result }) => result === "warning");
  const result = faults.length > 0 ? "fault" : warnings.length > 0 ? "warning" : "ok";
  await report.result([textOf(checks), summary(faults.length, warnings.length)].join("\n\n"), {
    result,
    checks: checks.map(({ name, result, found, next }) => ({ name, result, found, next })),
  });
  return faults[0]?.exitCode ?? EXIT_OK;
}

function textOf(checks: readonly Check[]): string {
  const rows = checks.map(({ name, result, found }) => [result, name, found]);
  const lines = formatTable([["RESULT", "CHECK", "FOUND"], ...rows]).split("\n");
  const nexts = checks.map(({ next }) => next === undefined ? [] : [`  next: ${next}`]);
  return lines.flatMap((line, i) => [line, ...nexts[i - 1] ?? []]).join("\n");
}

function summary(faults: number, warnings: number): string {
  if (faults + warnings === 0) return "All is well";
  return `${formatCount(faults, "fault")}, ${formatCount(warnings, "warning")}`;
}
