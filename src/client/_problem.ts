/** Problem documents, turned back into the engine's error. */
import { ERROR_KINDS, type ErrorCode, type Outcome, TidemarkError } from "../engine/errors.ts";
import { type JsonObject, parseJson } from "./_json.ts";

const OUTCOMES: readonly unknown[] = ["applied", "not-applied", "unknown"];

/** The error that an answer carries; `lostOutcome` is its outcome where it carries none. */
export async function errorOfAnswer(
  url: string,
  answer: Response,
  lostOutcome: Outcome,
): Promise<TidemarkError> {
  const isProblem = (answer.headers.get("content-type") ?? "").includes("problem+json");
  if (!isProblem) {
    await answer.body?.cancel();
    return unreachable(
      url,
      `it answered ${answer.status} without a problem document, so it is no Tidemark sidecar`,
      lostOutcome,
    );
  }
  return errorOfProblem(parseJson(await answer.text()));
}

/** The error that a problem document describes. */
export function errorOfProblem(problem: JsonObject): TidemarkError {
  const { code, detail, outcome, details } = problem;
  const isKnown = typeof code === "string" && Object.hasOwn(ERROR_KINDS, code);
  return new TidemarkError(
    isKnown ? code as ErrorCode : "internal",
    isKnown ? String(detail) : `${detail} (${code})`,
    {
      outcome: OUTCOMES.includes(outcome) ? outcome as Outcome : "unknown",
      details: typeof details === "object" && details !== null ? details as JsonObject : {},
    },
  );
}

/** The sidecar gave no answer that can be used. */
export function unreachable(
  url: string,
  reason: string,
  outcome: Outcome,
  cause?: unknown,
): TidemarkError {
  return new TidemarkError(
    "server-unreachable",
    `Cannot get an answer from ${url}: ${reason}; ` +
      `check that the sidecar runs and the address is right`,
    { outcome, details: { url }, cause },
  );
}
