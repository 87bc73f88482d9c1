/**
 * Runs an operation until an attempt succeeds or the policy gives up. The one retry layer of the engine.
 * Seed: `RetryingExecutor`.
 * Owns: attempts, their timers and signals, how many run at once, handing over what lost.
 * Does not own: whether to try again (`RetryPolicy`), what an attempt does.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { Clock, Timer } from "../port/clock.ts";
import { AttemptTimeoutError, type RetryPolicy } from "./retry_policy.ts";

/** One attempt, as its operation sees it. */
export interface Attempt {
  /** Counts from 1. */
  readonly ordinal: number;
  /** Aborted as soon as nothing is wanted of the attempt any more. */
  readonly signal: AbortSignal;
}

/** Options of {@link RetryingExecutor.execute}. */
export interface ExecuteOptions<Result> {
  /**
   * Whether a timed-out attempt goes on beside the next one, and wins if it is done first. Otherwise its signal is
   * aborted, and whatever becomes of it is ignored. @default true
   */
  readonly overlapping?: boolean;
  /** Gets every result but the first. @default ignored */
  readonly onLoser?: (result: Result) => void;
  /** Gives the whole up. @default never */
  readonly signal?: AbortSignal;
  /** Told of each attempt that failed or timed out. @default nobody */
  readonly onFailure?: (attempt: number, error: unknown) => void;
  /** Told once: which attempt won, and how many there were. @default nobody */
  readonly onSuccess?: (attempt: number, attempts: number) => void;
}

/** Runs operations with retries. */
export class RetryingExecutor {
  readonly #clock: Clock;
  readonly #slots: Slots;
  readonly #actions = new Set<{ fail(error: unknown): void }>();
  #closed: TidemarkError | undefined;

  /**
   * @param clock Drives timeouts and waits.
   * @param attemptsInFlightMax Attempts that run at once, over all operations, hung ones included.
   */
  constructor(clock: Clock, { attemptsInFlightMax }: { readonly attemptsInFlightMax: number }) {
    this.#clock = clock;
    this.#slots = new Slots(attemptsInFlightMax);
  }

  /** Attempts that run now, hung ones included. */
  get attemptsInFlight(): number {
    return this.#slots.used;
  }

  /**
   * Runs an operation until an attempt succeeds or the policy gives up.
   *
   * @param operation Begins one attempt.
   * @param retryPolicy Decides about the next.
   * @returns What the first successful attempt gave.
   * @throws What the attempt failed with after which there was no other.
   */
  execute<Result>(
    operation: (attempt: Attempt) => Promise<Result>,
    retryPolicy: RetryPolicy,
    options: ExecuteOptions<Result> = {},
  ): Promise<Result> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    return new Promise<Result>((resolve, reject) => {
      const action = new Action(this.#clock, this.#slots, operation, retryPolicy, options, {
        resolve,
        reject,
        done: () => this.#actions.delete(action),
      });
      this.#actions.add(action);
      action.begin();
    });
  }

  /** Fails everything that runs, and aborts its attempts. Idempotent. */
  close(): void {
    this.#closed ??= new TidemarkError("closed", "The executor is closed: nothing is tried again", {
      outcome: "unknown",
    });
    for (const action of [...this.#actions]) action.fail(this.#closed);
  }
}

/** Lets so many attempts run at once, in order of arrival. */
class Slots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  used = 0;

  constructor(max: number) {
    if (!Number.isInteger(max) || max < 1) {
      throw new RangeError(`Cannot run ${max} attempts at once: wants a whole number from 1 on`);
    }
    this.#max = max;
  }

  /** Calls `begin` when there is room; the answer takes that back. */
  request(begin: () => void): () => void {
    if (this.used < this.#max) {
      this.used += 1;
      begin();
      return () => {};
    }
    this.#waiting.push(begin);
    return () => {
      const index = this.#waiting.indexOf(begin);
      if (index >= 0) this.#waiting.splice(index, 1);
    };
  }

  release(): void {
    this.used -= 1;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.used += 1;
    next();
  }
}

interface Settle<Result> {
  resolve(result: Result): void;
  reject(error: unknown): void;
  done(): void;
}

/** One operation on its way to a result. */
class Action<Result> {
  readonly #clock: Clock;
  readonly #slots: Slots;
  readonly #operation: (attempt: Attempt) => Promise<Result>;
  readonly #policy: RetryPolicy;
  readonly #options: ExecuteOptions<Result>;
  readonly #settle: Settle<Result>;
  readonly #startMs: number;
  readonly #aborts = new Set<AbortController>();
  readonly #timers = new Set<Timer>();
  readonly #onAbort = () => this.fail(this.#options.signal!.reason);
  #isSettled = false;
  /** Attempts that have neither failed nor timed out, and those that are due. */
  #active = 0;
  #total = 0;

  constructor(
    clock: Clock,
    slots: Slots,
    operation: (attempt: Attempt) => Promise<Result>,
    policy: RetryPolicy,
    options: ExecuteOptions<Result>,
    settle: Settle<Result>,
  ) {
    this.#clock = clock;
    this.#slots = slots;
    this.#operation = operation;
    this.#policy = policy;
    this.#options = options;
    this.#settle = settle;
    this.#startMs = clock.monotonicMs();
  }

  begin(): void {
    this.#options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#attempt(1);
  }

  fail(error: unknown): void {
    if (!this.#end()) return;
    this.#settle.reject(error);
  }

  #attempt(ordinal: number): void {
    this.#active += 1;
    this.#total += 1;
    const abort = new AbortController();
    this.#aborts.add(abort);
    let isOver = false;
    let timeout: Timer | undefined;
    const over = (error: unknown): void => {
      if (isOver || this.#isSettled) return;
      isOver = true;
      timeout?.cancel();
      this.#failed(ordinal, error);
    };
    const leaveQueue = this.#slots.request(() =>
      void this.#run({ ordinal, abort, over, isOver: () => isOver })
    );
    const timeoutMs = this.#policy.timeoutMs(ordinal);
    if (timeoutMs !== undefined && !isOver) {
      timeout = this.#after(timeoutMs, () => {
        const error = new AttemptTimeoutError(ordinal, timeoutMs);
        leaveQueue();
        if (this.#options.overlapping === false) abort.abort(error);
        over(error);
      });
    }
    abort.signal.addEventListener("abort", () => (leaveQueue(), timeout?.cancel()), { once: true });
  }

  async #run(
    { ordinal, abort, over, isOver }: {
      readonly ordinal: number;
      readonly abort: AbortController;
      readonly over: (error: unknown) => void;
      readonly isOver: () => boolean;
    },
  ): Promise<void> {
    try {
      const result = await this.#operation({ ordinal, signal: abort.signal });
      this.#aborts.delete(abort);
      const isIgnored = this.#options.overlapping === false && isOver();
      if (!isIgnored) this.#succeeded(ordinal, result);
    } catch (error) {
      this.#aborts.delete(abort);
      over(error);
    } finally {
      this.#slots.release();
    }
  }

  #succeeded(ordinal: number, result: Result): void {
    if (!this.#end()) {
      this.#options.onLoser?.(result);
      return;
    }
    this.#options.onSuccess?.(ordinal, this.#total);
    this.#settle.resolve(result);
  }

  #failed(ordinal: number, error: unknown): void {
    this.#options.onFailure?.(ordinal, error);
    const elapsedMs = this.#clock.monotonicMs() - this.#startMs;
    const delayMs = this.#policy.retryAfterMs(ordinal, error, elapsedMs);
    this.#active -= 1;
    if (delayMs === undefined) {
      if (this.#active === 0) this.fail(error);
      return;
    }
    if (delayMs <= 0) {
      this.#attempt(ordinal + 1);
      return;
    }
    // Due already: a failure of another attempt meanwhile must not end the action.
    this.#active += 1;
    this.#after(delayMs, () => {
      this.#active -= 1;
      this.#attempt(ordinal + 1);
    });
  }

  #after(delayMs: number, action: () => void): Timer {
    const timer = this.#clock.schedule(delayMs, () => {
      this.#timers.delete(timer);
      action();
    }, { keepsAlive: true });
    this.#timers.add(timer);
    return timer;
  }

  /** Ends the action once; what still runs is told that nothing is wanted of it. */
  #end(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#settle.done();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    for (const timer of this.#timers) timer.cancel();
    for (const abort of this.#aborts) {
      abort.abort(new TidemarkError("aborted", "Another attempt is done"));
    }
    return true;
  }
}
