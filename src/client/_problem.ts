/** Problem documents, turned back into the engine's error. */
import { ERROR_KINDS, type ErrorCode, type Outcome, TidemarkError } from "../engine/errors.ts";
import { type JsonObject, parseJson } from "./_json.ts";

const OUTCOMES: readonly unknown[] = ["applied", "not-applied", "unknown"];

/** Answers that say nothing of the request itself: the same one may be taken a moment later. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429, 502, 503, 504];
const MS_PER_S = 1000;
/** What a sidecar asks for at most; more is no wait but an end. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** An attempt that failed, and whether another may do better. */
export class AttemptFailure extends Error {
  override readonly name = "AttemptFailure";
  readonly error: TidemarkError;
  readonly isTransient: boolean;
  readonly retryAfterMs: number;

  constructor(error: TidemarkError, { isTransient = true, retryAfterMs = 0 } = {}) {
    super(error.message, { cause: error });
    this.error = error;
    this.isTransient = isTransient;
    this.retryAfterMs = retryAfterMs;
  }
}

/** How long the sidecar asked to wait; 0 where it did not. */
export function retryAfterMs(thrown: unknown): number {
  return thrown instanceof AttemptFailure ? thrown.retryAfterMs : 0;
}

/** What an answer that is none of success means; `lostOutcome` is its outcome where it says nothing. */
export async function failureOfAnswer(
  url: string,
  answer: Response,
  lostOutcome: Outcome,
): Promise<AttemptFailure> {
  const isBusy = TRANSIENT_STATUSES.includes(answer.status);
  const seconds = /^\d{1,9}$/.exec(answer.headers.get("retry-after") ?? "");
  const retryAfterMs = Math.min(Number(seconds?.[0] ?? 0) * MS_PER_S, RETRY_AFTER_MS_MAX);
  const isProblem = (answer.headers.get("content-type") ?? "").includes("problem+json");
  if (!isProblem) {
    await answer.body?.cancel();
    const reason = `it answered ${answer.status} without a problem document, ` +
      "so it is no Tidemark sidecar";
    const error = unreachable(url, reason, lostOutcome);
    return new AttemptFailure(error, { isTransient: isBusy, retryAfterMs });
  }
  const error = errorOfProblem(parseJson(await answer.text()));
  const isTransient = error.code === "closed" ? mayReopen(error) : isBusy || error.retryable;
  return new AttemptFailure(error, { isTransient, retryAfterMs });
}

/** Whether the same request may be taken later, by what is known of it. */
export function isTransient(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && (error.retryable || mayReopen(error));
}

/** A sidecar that closes is started again, and a job opened again; a writer that has ended stays so. */
function mayReopen({ code, details }: TidemarkError): boolean {
  return code === "closed" && details.writer === undefined;
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
