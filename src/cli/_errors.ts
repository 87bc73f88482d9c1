/**
 * Errors of a command: as text or JSON on stderr, and as an exit code. The only place that maps
 * them.
 */
import { asTidemarkError, problemOf } from "../http/problem.ts";
import { EXIT_CODE_OF, EXIT_USAGE } from "./exit_codes.ts";
import type { Report } from "./_report.ts";
import { toJson } from "../http/json.ts";
import { UsageError } from "./_usage_error.ts";

/** What only the command line can offer where a job has a live owner. */
const OR_TAKE_OVER = ", or take the job from it with --take-over";

/** Tells of an error; answers the exit code. */
export function reportError(report: Report, thrown: unknown): number {
  const { error, whileClosing } = separate(thrown);
  if (whileClosing !== undefined && !report.isJson) {
    report.note(`error while closing: ${asTidemarkError(whileClosing).message}`);
  }
  if (error instanceof UsageError) return reportUsage(report, error);
  const { code, kind, outcome, retryable, detail, details, nextStep: step } = problemOf(
    asTidemarkError(error),
  );
  const nextStep = code === "job-busy" ? `${step}${OR_TAKE_OVER}` : step;
  const exitCode = EXIT_CODE_OF[kind];
  if (report.isJson) {
    const problem = { code, kind, outcome, retryable, detail, details, nextStep, exitCode };
    report.note(toJson({ error: problem }));
    return exitCode;
  }
  report.note(`error: ${detail}`);
  report.note(`  code: ${code}`);
  if (outcome !== "not-applied") {
    report.note(
      `  outcome: ${outcome === "unknown" ? "unknown, it may have taken effect" : outcome}`,
    );
  }
  report.note(`  next: ${nextStep}`);
  return exitCode;
}

/**
 * When what failed can't be closed either, `await using` throws both as one: the first one is what
 * happened.
 */
function separate(thrown: unknown): { error: unknown; whileClosing?: unknown } {
  if (!(thrown instanceof Error) || thrown.name !== "SuppressedError") return { error: thrown };
  const { error, suppressed } = thrown as Error & { error?: unknown; suppressed?: unknown };
  return { ...separate(suppressed), whileClosing: error };
}

function reportUsage(report: Report, error: UsageError): number {
  const help = `tidemark${error.command === undefined ? "" : ` ${error.command}`} --help`;
  const nextStep = `${help} lists what it takes`;
  if (!report.isJson) {
    report.note(`error: ${error.message}`);
    report.note(`  next: ${nextStep}`);
    return EXIT_USAGE;
  }
  const problem = {
    code: "usage",
    kind: "invalid",
    outcome: "not-applied",
    retryable: false,
    detail: error.message,
    details: {},
    nextStep,
    exitCode: EXIT_USAGE,
  };
  report.note(toJson({ error: problem }));
  return EXIT_USAGE;
}
