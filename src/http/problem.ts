/**
 * The one place where errors become answers: `application/problem+json` (RFC 9457).
 * @module
 */
import { type ErrorCode, type ErrorKind, TidemarkError } from "../engine/errors.ts";
import { ERROR_GUIDE } from "./error_guide.ts";
import { toJson } from "./json.ts";
import { PROBLEM_TYPE } from "./media_types.ts";

/** HTTP status of each kind of error. */
export const STATUS_OF: Readonly<Record<ErrorKind, number>> = {
  "invalid": 400,
  "not-found": 404,
  "conflict": 409,
  "fenced": 409,
  "unavailable": 503,
  "storage-full": 507,
  "corrupt": 500,
  "closed": 503,
  "internal": 500,
};

/** Where a code has a status of its own. */
const STATUS_OF_CODE: Readonly<Partial<Record<ErrorCode, number>>> = {
  "unauthorized": 401,
  "forbidden": 403,
};

/** Seconds after which a client may try again. */
const RETRY_AFTER_S: Readonly<Partial<Record<ErrorKind, number>>> = {
  "unavailable": 1,
  "closed": 1,
  "storage-full": 10,
};

/** A request that HTTP itself refuses, with a status of its own. */
export class RequestError extends TidemarkError {
  constructor(
    readonly status: number,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super("invalid-request", message, { details });
  }
}

/** An error as a problem document. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly kind: ErrorKind;
  readonly outcome: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly nextStep: string;
}

/** Turns anything that was thrown into the engine's error: what is not one is `internal`. */
export function asTidemarkError(error: unknown): TidemarkError {
  if (error instanceof TidemarkError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new TidemarkError("internal", `Cannot answer: ${reason}`, {
    outcome: "unknown",
    cause: error,
  });
}

/** The problem document of an error. */
export function problemOf(error: TidemarkError): Problem {
  const { title, nextStep } = ERROR_GUIDE[error.code];
  return {
    type: `urn:tidemark:error:${error.code}`,
    title,
    status: statusOf(error),
    detail: error.message,
    code: error.code,
    kind: error.kind,
    outcome: error.outcome,
    retryable: error.retryable,
    details: error.details,
    nextStep,
  };
}

/** The HTTP status of an error. */
export function statusOf(error: TidemarkError): number {
  if (error instanceof RequestError) return error.status;
  return STATUS_OF_CODE[error.code] ?? STATUS_OF[error.kind];
}

/**
 * The answer to a request that failed.
 *
 * @param problem What it says. @default all of it
 */
export function problemResponse(
  error: TidemarkError,
  problem: Problem = problemOf(error),
): Response {
  const headers = new Headers(error instanceof RequestError ? error.headers : {});
  headers.set("content-type", PROBLEM_TYPE);
  headers.set("cache-control", "no-store");
  if (error.code === "unauthorized") headers.set("www-authenticate", 'Bearer realm="tidemark"');
  const retryAfterS = RETRY_AFTER_S[error.kind];
  if (retryAfterS !== undefined) headers.set("retry-after", String(retryAfterS));
  return new Response(`${toJson(problem)}\n`, { status: problem.status, headers });
}
