/** Which errors a route may answer, by status. */
import { ERROR_KINDS, type ErrorCode, TidemarkError } from "../engine/errors.ts";
import type { Route } from "./_route.ts";
import { statusOf } from "./problem.ts";

type Facts = Pick<Route, "path" | "right" | "request" | "errors">;

/** Of whatever works on the store. */
const STORE_ERRORS: readonly ErrorCode[] = [
  "closed",
  "internal",
  "storage-full",
  "storage-unavailable",
  "storage-denied",
];

/** Of whatever opens the job that the path names. */
const JOB_ERRORS: readonly ErrorCode[] = [
  "invalid-name",
  "unsupported-format",
  "read-only",
  "job-not-found",
  "job-busy",
  "settings-conflict",
  "fenced",
  "object-exists",
  "catalog-lost",
  "changes-lost",
  "corrupt",
];

/**
 * Every code that a route may answer, by status, in order of both. What HTTP itself refuses has the code
 * `invalid-request`, whatever its status.
 */
export function errorsOf(route: Facts): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, Set<string>>();
  const add = (status: number, code: ErrorCode): void => {
    found.set(status, (found.get(status) ?? new Set()).add(code));
  };
  for (const status of requestStatuses(route)) add(status, "invalid-request");
  for (const code of codesOf(route)) add(statusOf(new TidemarkError(code, code)), code);
  const sorted = [...found].sort(([a], [b]) => a - b);
  return new Map(sorted.map(([status, codes]) => [status, inOrder(codes)]));
}

function requestStatuses({ path, request }: Facts): readonly number[] {
  const always = [400, 403, 406];
  if (path === "/metrics") return [...always, 404];
  if (request.body === undefined) return always;
  return [...always, 408, 413, 415];
}

function codesOf({ path, right, request, errors }: Facts): readonly ErrorCode[] {
  return [
    ...errors,
    ...(right === "none" ? ["internal" as const] : STORE_ERRORS),
    ...(right === "none" ? [] : ["unauthorized" as const, "forbidden" as const]),
    ...(path.includes(":job") ? JOB_ERRORS : []),
    // Bodies in memory are bounded, over all requests.
    ...(request.body === undefined ? [] : ["backpressure" as const]),
  ];
}

function inOrder(codes: ReadonlySet<string>): readonly string[] {
  return Object.keys(ERROR_KINDS).filter((code) => codes.has(code));
}
