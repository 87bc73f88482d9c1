/**
 * The engine's one error. A code is stable and says what happened; its kind says what a caller can do;
 * its outcome says whether the action took effect.
 * @module
 */

/** What a caller can do about an error. */
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

/** Whether the action took effect. `unknown`: the answer was lost, and reading back could not decide. */
export type Outcome = "applied" | "not-applied" | "unknown";

const KIND_OF = {
  "invalid-name": "invalid",
  "invalid-change": "invalid",
  "invalid-request": "invalid",
  "change-too-large": "invalid",
  "unsupported-format": "invalid",
  "unsupported-file-system": "invalid",
  "symbolic-link": "invalid",
  "not-a-store": "invalid",
  "read-only": "invalid",
  "truncated": "invalid",
  "store-not-found": "not-found",
  "job-not-found": "not-found",
  "writer-not-found": "not-found",
  "checkpoint-not-found": "not-found",
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
} as const satisfies Record<string, ErrorKind>;

/** Every error code; stable, listed in `docs/ERRORS.md`. */
export type ErrorCode = keyof typeof KIND_OF;

const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  "backpressure",
  "storage-unavailable",
  "server-unreachable",
  "storage-full",
  "job-busy",
  "snapshot-expired",
]);

/** What an error carries besides its code and message. */
export interface TidemarkErrorOptions {
  /** Whether the action took effect. @default "not-applied" */
  outcome?: Outcome;
  /** Facts for programs: names, numbers, what was found and what was wanted. @default {} */
  details?: Readonly<Record<string, unknown>>;
  /** What led to this error. @default undefined */
  cause?: unknown;
}

/**
 * An operating error of the engine. Misuse of the interface is a `TypeError` or a `RangeError` instead.
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
  override readonly name = "TidemarkError";
  /** What happened; stable. */
  readonly code: ErrorCode;
  /** Whether the action took effect. */
  readonly outcome: Outcome;
  /** Facts for programs. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: TidemarkErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.outcome = options.outcome ?? "not-applied";
    this.details = options.details ?? {};
  }

  /** What a caller can do about it. */
  get kind(): ErrorKind {
    return KIND_OF[this.code];
  }

  /** Whether the same call may succeed later without anything else being done. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/** Every error code with its kind, for tables and for total maps. */
export const ERROR_KINDS: Readonly<Record<ErrorCode, ErrorKind>> = KIND_OF;

/** Whether `error` is a {@link TidemarkError} with this code. */
export function hasCode(error: unknown, code: ErrorCode): error is TidemarkError {
  return error instanceof TidemarkError && error.code === code;
}
