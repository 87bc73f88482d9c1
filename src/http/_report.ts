/** What the log is told of requests that failed. */
import type { TidemarkError } from "../engine/errors.ts";
import type { Logger } from "../engine/port/logger.ts";

/** Tells of errors that are not the client's. */
export function report(
  logger: Logger,
  error: TidemarkError,
  request: Readonly<Record<string, unknown>>,
): void {
  const isOurs = error.kind === "internal" || error.kind === "corrupt";
  // Who gave up, or went away, knows.
  if (error.code === "aborted") return;
  if (!isOurs && error.kind !== "unavailable" && error.kind !== "storage-full") return;
  logger.log(isOurs ? "error" : "warning", "request failed", {
    ...request,
    code: error.code,
    outcome: error.outcome,
    reason: error.message,
    cause: error.cause,
  });
}
