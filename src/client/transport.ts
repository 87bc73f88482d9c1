/**
 * Requests to one sidecar, each sent until it is answered or given up.
 *
 * Owns: the address, the token, attempts and the waits between them, what still runs at close.
 * Does not own: what a request means, and so whether it may be repeated.
 * @module
 */
import { type Outcome, TidemarkError, withUnknownOutcome } from "../engine/errors.ts";
import type { Clock } from "../engine/port/clock.ts";
import { SILENT_LOGGER } from "../engine/port/logger.ts";
import type { Random } from "../engine/port/random.ts";
import { isTimeout, RetryPolicy } from "../engine/upload/retry_policy.ts";
import { RetryingExecutor } from "../engine/upload/retrying_executor.ts";
import { type JsonObject, parseJson, UnreadableAnswer } from "./_json.ts";
import { AttemptFailure, failureOfAnswer, retryAfterMs, unreachable } from "./_problem.ts";

/** Sends one request. */
export type Fetch = (request: Request) => Promise<Response>;

/** When a request is sent again. */
export interface RetrySettings {
  /** Upper bound of the first wait; it doubles with each attempt. */
  readonly retryDelayMsMin: number;
  /** Upper bound of every wait, but for what the sidecar asks for. */
  readonly retryDelayMsMax: number;
  /** Time after the first attempt began at which none begins any more; 0: there is one attempt. */
  readonly retryDeadlineMs: number;
}

/** What a transport is made of. */
export interface TransportParts extends RetrySettings {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  /** Sent as `Authorization: Bearer`. @default none */
  readonly token?: string;
  /** What messages call the sidecar. @default its URL */
  readonly shownUrl?: string;
}

/** A request. */
export interface Call {
  readonly method?: "GET" | "PUT" | "POST" | "DELETE";
  /** From the first slash on, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array | string | ReadableStream<Uint8Array>;
  /** Whether the request took effect when its answer is lost. @default "not-applied" */
  readonly lostOutcome?: Outcome;
  /**
   * When it is sent again: also after an answer was lost (`lost`), only where nothing was done (`refused`), or not at
   * all, since its body can be read once (`never`).
   */
  readonly repeat: "lost" | "refused" | "never";
  /** How long an attempt may take, until all of its answer is there; 0: as long as it takes. @default 0 */
  readonly attemptMsMax?: number;
  readonly signal?: AbortSignal;
}

/** Sends requests. */
export class Transport {
  /** Where the sidecar is, for people. */
  readonly url: string;
  readonly #base: string;
  readonly #parts: TransportParts;
  readonly #executor: RetryingExecutor;
  readonly #closing = new AbortController();

  /** @throws {TypeError} when the URL is not one of http or https, or the token can't be sent */
  constructor(url: string, parts: TransportParts) {
    this.#base = checkUrl(url);
    this.url = parts.shownUrl ?? this.#base;
    if (parts.token !== undefined) checkToken(parts.token);
    this.#parts = parts;
    const ports = { clock: parts.clock, logger: SILENT_LOGGER };
    this.#executor = new RetryingExecutor(ports, { attemptsInFlightMax: Number.MAX_SAFE_INTEGER });
  }

  /** Set off at close: what streams ends with its reason. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Fails everything that is under way. */
  async close(): Promise<void> {
    const reason = new TidemarkError("closed", `The client of ${this.url} is closed`);
    this.#closing.abort(reason);
    await this.#executor.close(reason);
  }

  /** The answer's head; its body is the caller's to read. */
  stream(call: Call): Promise<Response> {
    return this.#send(call, (answer) => Promise.resolve(answer));
  }

  /** The answer's text. */
  text(call: Call): Promise<string> {
    return this.#send(call, (answer) => answer.text());
  }

  /** The JSON object that the answer holds. */
  json(call: Call): Promise<JsonObject> {
    return this.#send(call, async (answer) => parseJson(await answer.text()));
  }

  async #send<Result>(call: Call, read: (answer: Response) => Promise<Result>): Promise<Result> {
    const { lostOutcome = "not-applied", signal } = call;
    // A lost answer stays lost, whatever a later attempt is told.
    let isLost = false;
    try {
      return await this.#executor.execute(
        (attempt) => this.#attempt(call, attempt.signal, read),
        this.#policyOf(call),
        { overlapping: false, signal, onFailure: (_attempt, error) => isLost ||= wasLost(error) },
      );
    } catch (thrown) {
      signal?.throwIfAborted();
      const error = this.#errorOf(thrown, lostOutcome);
      const isSettled = !isLost || lostOutcome === "not-applied" || !isNotApplied(error);
      throw isSettled ? error : withUnknownOutcome(error);
    }
  }

  async #attempt<Result>(
    call: Call,
    signal: AbortSignal,
    read: (answer: Response) => Promise<Result>,
  ): Promise<Result> {
    const { lostOutcome = "not-applied" } = call;
    let answer: Response;
    try {
      answer = await this.#parts.fetch(this.#requestOf(call, signal));
    } catch (cause) {
      const outcome = isRefused(cause) ? "not-applied" : lostOutcome;
      throw new AttemptFailure(unreachable(this.url, reasonOf(cause), outcome, cause));
    }
    let failure: AttemptFailure;
    try {
      if (answer.ok) return await read(answer);
      failure = await failureOfAnswer(this.url, answer, lostOutcome);
    } catch (cause) {
      const error = unreachable(this.url, "the answer can't be read", lostOutcome, cause);
      // What is whole, and none of ours, will be no other the next time.
      throw new AttemptFailure(error, { isTransient: !answer.ok || !isForeign(answer, cause) });
    }
    throw failure;
  }

  #requestOf({ method = "GET", path, headers = {}, body }: Call, signal: AbortSignal): Request {
    const sent = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) sent.set(name, value);
    }
    const { token } = this.#parts;
    if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
    // A sidecar sends nobody elsewhere, and neither changes nor token are to follow whoever does.
    const init = { method, headers: sent, body, signal, redirect: "manual", duplex: "half" };
    return new Request(`${this.#base}${path}`, init as RequestInit);
  }

  #policyOf({ repeat, attemptMsMax = 0 }: Call): RetryPolicy {
    const { retryDelayMsMin, retryDelayMsMax, retryDeadlineMs, random } = this.#parts;
    const backoff = RetryPolicy.exponential({
      attemptsMax: Number.MAX_SAFE_INTEGER,
      timeoutMs: attemptMsMax,
      delayMsMin: retryDelayMsMin,
      delayMsMax: retryDelayMsMax,
      deadlineMs: retryDeadlineMs,
      random,
    });
    return {
      name: "exponential",
      timeoutMs: (attempt) => backoff.timeoutMs(attempt),
      retryAfterMs: (attempt, error, elapsedMs) => {
        const isFinal = elapsedMs >= retryDeadlineMs || !mayRepeat(error, repeat);
        if (isFinal) return undefined;
        // Those that are told the same time still come one after the other.
        const askedMs = retryAfterMs(error);
        const delayMs = backoff.retryAfterMs(attempt, TRANSIENT, elapsedMs + askedMs);
        return delayMs === undefined ? undefined : askedMs + delayMs;
      },
    };
  }

  #errorOf(thrown: unknown, lostOutcome: Outcome): unknown {
    if (thrown instanceof AttemptFailure) return thrown.error;
    if (isTimeout(thrown)) {
      return unreachable(this.url, (thrown as Error).message, lostOutcome, thrown);
    }
    if (thrown !== this.closed.reason) return thrown;
    return new TidemarkError(
      "closed",
      `The client of ${this.url} is closed: nobody waits any more`,
      {
        outcome: lostOutcome,
        cause: thrown,
      },
    );
  }
}

const TRANSIENT = new TidemarkError("server-unreachable", "The attempt may be repeated");

function mayRepeat(thrown: unknown, repeat: Call["repeat"]): boolean {
  if (repeat === "never") return false;
  if (isTimeout(thrown)) return repeat === "lost";
  if (!(thrown instanceof AttemptFailure) || !thrown.isTransient) return false;
  return repeat === "lost" || isNotApplied(thrown.error);
}

function wasLost(thrown: unknown): boolean {
  return !(thrown instanceof AttemptFailure) || !isNotApplied(thrown.error);
}

function isNotApplied(error: unknown): boolean {
  return error instanceof TidemarkError && error.outcome === "not-applied";
}

/** Whether what came is whole, and yet no answer of a sidecar. */
function isForeign({ headers }: Response, cause: unknown): boolean {
  const isRead = cause instanceof SyntaxError || cause instanceof UnreadableAnswer;
  return isRead && !(headers.get("content-type") ?? "").includes("json");
}

/** What went wrong with a request, for people. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Node says only "fetch failed"; what happened is in the cause.
  const inner = cause.cause;
  return inner instanceof Error && inner.message !== "" ? inner.message : cause.message;
}

/** Whether nobody listens, so that the request was never sent. Each runtime says it in its own words. */
function isRefused(cause: unknown): boolean {
  const errors = cause instanceof Error ? [cause, cause.cause] : [];
  return errors.some((error) =>
    error instanceof Error && /\bECONNREFUSED\b|\bconnection refused\b/i.test(error.message)
  );
}

function checkUrl(url: string): string {
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new TypeError(`Cannot use ${url}: wants an address such as http://127.0.0.1:7460`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new TypeError(
      "Cannot use an address with a user name or a password: give the token as option `token`",
    );
  }
  if (parsed.search !== "" || parsed.hash !== "") {
    throw new TypeError(`Cannot use ${url}: wants an address without ? and #`);
  }
  return parsed.href.replace(/\/+$/, "");
}

/** Says nothing of what the token is. */
function checkToken(token: string): void {
  if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return;
  throw new TypeError("Cannot use the token: wants visible ASCII characters without a space");
}
