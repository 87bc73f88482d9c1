/**
 * Checkpoints that are being made, and those that have failed. Seed: what is no part of `checkpoint_list` yet.
 * Owns: their states, giving them up. Does not own: making them; what is published, the catalog says.
 * @module
 */
import { TidemarkError } from "../errors.ts";
import type { CheckpointAttempt } from "../types.ts";
import type { Clock } from "../port/clock.ts";

/** Failed ones that are remembered. */
const FAILED_MAX = 16;

/** One checkpoint on its way. */
export interface Attempt {
  /** Set off when it is given up. */
  readonly signal: AbortSignal;
  /** From now on it can't be given up any more. @throws What gave it up. */
  publishing(): void;
}

interface Entry {
  state: CheckpointAttempt["state"];
  readonly identifier: string | undefined;
  readonly startedAtMs: number;
  isPublishing: boolean;
  reason: string | undefined;
  readonly giveUp: AbortController;
}

/** The unpublished checkpoints of a job, in its owner. */
export class CheckpointAttempts {
  readonly #clock: Clock;
  readonly #job: string;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, job: string) {
    this.#clock = clock;
    this.#job = job;
  }

  /** Those that are being made, and the last that have failed, oldest first. */
  get list(): CheckpointAttempt[] {
    return [...this.#entries].map(([uuid, { state, identifier, startedAtMs, reason }]) => ({
      uuid,
      state,
      startedAtMs,
      ...(identifier === undefined ? {} : { identifier }),
      ...(reason === undefined ? {} : { reason }),
    }));
  }

  /** Whether a checkpoint of this uuid is being made, or has failed. */
  has(uuid: string): boolean {
    return this.#entries.has(uuid);
  }

  /**
   * Makes a checkpoint.
   *
   * @param given Gives it up, as {@link abort} does. @default never
   */
  async make<Made>(
    { uuid, identifier, given }: {
      readonly uuid: string;
      readonly identifier: string | undefined;
      readonly given?: AbortSignal;
    },
    action: (attempt: Attempt) => Promise<Made>,
  ): Promise<Made> {
    const giveUp = new AbortController();
    const startedAtMs = this.#clock.nowMs();
    const entry: Entry = {
      state: "preparing",
      identifier,
      startedAtMs,
      isPublishing: false,
      reason: undefined,
      giveUp,
    };
    this.#entries.set(uuid, entry);
    const onAbort = (): void => void this.#giveUp(entry, given!.reason);
    given?.addEventListener("abort", onAbort, { once: true });
    const publishing = (): void => {
      giveUp.signal.throwIfAborted();
      entry.isPublishing = true;
    };
    try {
      const made = await action({ signal: giveUp.signal, publishing });
      this.#entries.delete(uuid);
      return made;
    } catch (error) {
      entry.state = "failed";
      entry.reason = error instanceof Error ? error.message : String(error);
      this.#forgetOldest();
      throw error;
    } finally {
      given?.removeEventListener("abort", onAbort);
    }
  }

  /** Gives a checkpoint up that is not being published yet; answers whether it did. */
  abort(uuid: string): boolean {
    const entry = this.#entries.get(uuid);
    if (entry === undefined || entry.state === "failed") return false;
    return this.#giveUp(
      entry,
      new TidemarkError("aborted", `Checkpoint ${uuid} of job ${this.#job} was given up`, {
        details: { job: this.#job, uuid },
      }),
    );
  }

  #giveUp(entry: Entry, reason: unknown): boolean {
    if (entry.isPublishing) return false;
    entry.giveUp.abort(reason);
    return true;
  }

  #forgetOldest(): void {
    const failed = [...this.#entries].filter(([, { state }]) => state === "failed");
    for (const [uuid] of failed.slice(0, -FAILED_MAX)) this.#entries.delete(uuid);
  }
}
