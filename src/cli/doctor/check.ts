/**
 * One thing that the doctor looked at.
 * @module
 */
import { asTidemarkError, problemOf } from "../../http/problem.ts";
import { UsageError } from "../_usage_error.ts";
import { EXIT_CODE_OF, EXIT_USAGE } from "../exit_codes.ts";

/** What was found, and what to do about it. */
export interface Check {
  readonly name: string;
  readonly result: "ok" | "warning" | "fault";
  readonly found: string;
  /** What to do; none where all is well. */
  readonly next?: string;
  /** Exit code of a fault. */
  readonly exitCode?: number;
}

/** All is well. */
export function ok(name: string, found: string): Check {
  return { name, result: "ok", found };
}

/** It works, but somebody should know. */
export function warning(name: string, found: string, next: string): Check {
  return { name, result: "warning", found, next };
}

/** It does not work. */
export function fault(name: string, found: string, next: string): Check {
  return { name, result: "fault", found, next, exitCode: EXIT_CODE_OF.conflict };
}

/** It does not work, as an error says. */
export function faultOf(name: string, error: unknown): Check {
  if (error instanceof UsageError) {
    return { ...fault(name, error.message, "Correct the setting"), exitCode: EXIT_USAGE };
  }
  const { kind, detail, nextStep } = problemOf(asTidemarkError(error));
  return { ...fault(name, detail, nextStep), exitCode: EXIT_CODE_OF[kind] };
}

/** Looks at something; what it throws is a fault. */
export async function check(
  name: string,
  look: () => Check | readonly Check[] | Promise<Check | readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    const found = await look();
    return "name" in found ? [found] : found;
  } catch (error) {
    return [faultOf(name, error)];
  }
}
