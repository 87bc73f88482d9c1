/**
 * The engine's one error. A code is stable and says what happened; its kind says what a caller can do;
 * its outcome says whether the action took effect.
 * @module
 */

/**
 * What a caller can do about an error. The HTTP status and the exit code of the command line follow from it.
 *
 * - `invalid`: correct the call; it can't succeed as it is
 * - `not-found`: name something that is there, or create it
 * - `conflict`: look at what is there, then decide
 * - `fenced`: stop; a newer owner or run has taken over
 * - `unavailable`: try again later
 * - `storage-full`: make room; the store goes on by itself
 * - `corrupt`: keep the store as it is, and restore from what verifies
 * - `closed`: open it again
 * - `internal`: report it
 *
 * @example
 * ```ts
 * import { type ErrorKind, TidemarkError } from "@tidemark/tidemark";
 *
 * function isWorthAWait(error: unknown): boolean {
 *   const patient: readonly ErrorKind[] = ["unavailable", "storage-full"];
 *   return error instanceof TidemarkError && patient.includes(error.kind);
 * }
 * console.assert(isWorthAWait(new TidemarkError("backpressure", "Cannot append now")));
 * ```
 */
export type ErrorKind =
  | "invalid"
  | "not-found"
  | "conflict"
  | "fenced"
  | "unavailable"
  | "storage-full"
  | "corrupt"
  | "closed"
  | "internal";

/**
 * Whether the action took effect. `unknown`: the answer was lost, and reading back could not decide. An append of
 * unknown outcome is repeated at its offset; it is taken once.
 *
 * @example
 * ```ts
 * import { type Outcome, TidemarkError } from "@tidemark/tidemark";
 *
 * const error = new TidemarkError("storage-unavailable", "Cannot sync", { outcome: "unknown" });
 * const outcome: Outcome = error.outcome;
 * console.assert(outcome !== "applied" && outcome !== "not-applied");
 * ```
 */
export type Outcome = "applied" | "not-applied" | "unknown";

/**
 * Every error code. A code is stable; `docs/ERRORS.md` says what each means and what to do about it.
 *
 * @example
 * ```ts
 * import { type ErrorCode, openStore, TidemarkError } from "@tidemark/tidemark";
 *
 * await using store = await openStore("memory:");
 * const wanted: ErrorCode = "job-not-found";
 * const code = await store.reader("orders").then(() => "none", (error: TidemarkError) => error.code);
 * console.assert(code === wanted);
 * ```
 */
export type ErrorCode =
  | "invalid-name"
  | "invalid-change"
  | "invalid-request"
  | "unauthorized"
  | "forbidden"
  | "change-too-large"
  | "unsupported-format"
  | "unsupported-file-system"
  | "symbolic-link"
  | "not-a-store"
  | "read-only"
  | "truncated"
  | "invalid-archive"
  | "store-not-found"
  | "job-not-found"
  | "writer-not-found"
  | "checkpoint-not-found"
  | "state-not-found"
  | "object-not-found"
  | "snapshot-expired"
  | "object-exists"
  | "job-busy"
  | "settings-conflict"
  | "fingerprint-mismatch"
  | "offset-conflict"
  | "offset-mismatch"
  | "run-required"
  | "too-many-checkpoints"
  | "checkpoint-in-use"
  | "checkpoint-exists"
  | "idempotency-conflict"
  | "job-exists"
  | "import-unfinished"
  | "plan-changed"
  | "fenced"
  | "backpressure"
  | "storage-unavailable"
  | "storage-denied"
  | "server-unreachable"
  | "listen-failed"
  | "aborted"
  | "storage-full"
  | "corrupt"
  | "catalog-lost"
  | "changes-lost"
  | "closed"
  | "internal";

/** Every error code with its kind, for tables and for total maps. */
export const ERROR_KINDS: Readonly<Record<ErrorCode, ErrorKind>> = {
  "invalid-name": "invalid",
  "invalid-change": "invalid",
  "invalid-request": "invalid",
  "unauthorized": "invalid",
  "forbidden": "invalid",
  "change-too-large": "invalid",
  "unsupported-format": "invalid",
  "unsupported-file-system": "invalid",
  "symbolic-link": "invalid",
  "not-a-store": "invalid",
  "read-only": "invalid",
  "truncated": "invalid",
  "invalid-archive": "invalid",
  "store-not-found": "not-found",
  "job-not-found": "not-found",
  "writer-not-found": "not-found",
  "checkpoint-not-found": "not-found",
  "state-not-found": "not-found",
  "object-not-found": "not-found",
  "snapshot-expired": "not-found",
  "object-exists": "conflict",
  "job-busy": "conflict",
  "settings-conflict": "conflict",
  "fingerprint-mismatch": "conflict",
  "offset-conflict": "conflict",
  "offset-mismatch": "conflict",
  "run-required": "conflict",
  "too-many-checkpoints": "conflict",
  "checkpoint-in-use": "conflict",
  "checkpoint-exists": "conflict",
  "idempotency-conflict": "conflict",
  "job-exists": "conflict",
  "import-unfinished": "conflict",
  "plan-changed": "conflict",
  "fenced": "fenced",
  "backpressure": "unavailable",
  "storage-unavailable": "unavailable",
  "storage-denied": "unavailable",
  "server-unreachable": "unavailable",
  "listen-failed": "unavailable",
  "aborted": "unavailable",
  "storage-full": "storage-full",
  "corrupt": "corrupt",
  "catalog-lost": "corrupt",
  "changes-lost": "corrupt",
  "closed": "closed",
  "internal": "internal",
};

const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  "backpressure",
  "storage-unavailable",
  "server-unreachable",
  "storage-full",
  "job-busy",
  "snapshot-expired",
]);

/**
 * What an error carries besides its code and message.
 *
 * @example
 * ```ts
 * import { TidemarkError, type TidemarkErrorOptions } from "@tidemark/tidemark";
 *
 * const options: TidemarkErrorOptions = {
 *   outcome: "unknown",
 *   details: { key: "jobs/orders/LOCK" },
 *   cause: new Error("EIO"),
 * };
 * const error = new TidemarkError("storage-unavailable", "Cannot write", options);
 * console.assert(error.details.key === "jobs/orders/LOCK" && error.cause === options.cause);
 * ```
 */
export interface TidemarkErrorOptions {
  /** Whether the action took effect. @default "not-applied" */
  outcome?: Outcome;
  /** Facts for programs: names, numbers, what was found and what was wanted. @default {} */
  details?: Readonly<Record<string, unknown>>;
  /** What led to this error. @default undefined */
  cause?: unknown;
}

/**
 * An operating error of the engine. Misuse of the interface is a `TypeError` or a `RangeError` instead. The message
 * names the action, the object, what was found and wanted, and the next step; programs go by `code` and `kind`.
 *
 * @example
 * ```ts
 * import { TidemarkError } from "@tidemark/tidemark";
 *
 * const error = new TidemarkError("storage-full", "Cannot append: the disk is full");
 * console.assert(error.kind === "storage-full" && error.retryable);
 * ```
 */
export class TidemarkError extends Error {
  /** Tells the class where `instanceof` can't. */
  override readonly name: "TidemarkError" = "TidemarkError";
  /** What happened; stable. */
  readonly code: ErrorCode;
  /** Whether the action took effect. */
  readonly outcome: Outcome;
  /** Facts for programs. */
  readonly details: Readonly<Record<string, unknown>>;

  /**
   * Makes an error; what goes wrong in a backend of your own is thrown as one, too.
   *
   * @param code What happened.
   * @param message The action, the object, what was found and wanted, the next step.
   * @param options Outcome, details and cause. @default {}
   */
  constructor(code: ErrorCode, message: string, options: TidemarkErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.outcome = options.outcome ?? "not-applied";
    this.details = options.details ?? {};
  }

  /** What a caller can do about it. */
  get kind(): ErrorKind {
    return ERROR_KINDS[this.code];
  }

  /** Whether the same call may succeed later without anything else being done. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/** The error of a call that had done something, or may have, when it failed. */
export function withUnknownOutcome(error: unknown): unknown {
  if (!(error instanceof TidemarkError) || error.outcome === "unknown") return error;
  const { code, message, details } = error;
  return new TidemarkError(code, message, { outcome: "unknown", details, cause: error });
}

/** Whether `error` is a {@link TidemarkError} with this code. */
export function hasCode(error: unknown, code: ErrorCode): error is TidemarkError {
  return error instanceof TidemarkError && error.code === code;
}
