/**
 * Exit codes of the command line; `docs/CLI.md` lists them, and a test holds the two equal.
 * @module
 */
import type { ErrorKind } from "../engine/errors.ts";
import type { StopSignal } from "../runtime/cli_io.ts";

/** All went well. */
export const EXIT_OK = 0;
/** The command line itself is wrong. */
export const EXIT_USAGE = 2;

/** Exit code of each kind of error. */
export const EXIT_CODE_OF: Readonly<Record<ErrorKind, number>> = {
  "internal": 1,
  "invalid": EXIT_USAGE,
  "not-found": 3,
  "conflict": 4,
  "fenced": 5,
  "unavailable": 6,
  "storage-full": 7,
  "corrupt": 8,
  "closed": 9,
};

/** Exit code after a signal: 128 and its number, as shells have it. */
export const EXIT_CODE_OF_SIGNAL: Readonly<Record<StopSignal, number>> = {
  "SIGINT": 130,
  "SIGTERM": 143,
};
