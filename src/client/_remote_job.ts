/**
 * A job of a sidecar, as its pipeline uses it.
 *
 * Owns: which run it takes part in, making the job where it is missing.
 * Does not own: what a run holds (`_remote_run.ts`), requests.
 */
import { orAborted } from "../engine/checkpoint/or_aborted.ts";
import { hasCode, TidemarkError } from "../engine/errors.ts";
import type { Clock } from "../engine/port/clock.ts";
import type { Random } from "../engine/port/random.ts";
import type {
  CheckpointAttempt,
  CheckpointMetadata,
  CollectionOptions,
  CollectionReport,
  ObjectExplanation,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  StateContent,
  StateMetadata,
  WaitOptions,
  WriterPosition,
} from "../engine/types.ts";
import type { AvailabilityProvider } from "../engine/upload/upload_throttle.ts";
import { isTransient } from "./_problem.ts";
import { SidecarJobReader } from "./_remote_reader.ts";
import type { RestoreParts } from "./_remote_restore.ts";
import { RemoteRun, type RunParts, type RunStart } from "./_remote_run.ts";
import type { ClientSettings } from "./client_settings.ts";
import type {
  RemoteCheckpointOptions,
  RemoteJob,
  RemoteJobOptions,
  RemoteWriter,
} from "./types.ts";

/** What a job works with. */
export interface JobParts extends RestoreParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: ClientSettings;
}

/** A job. */
export class SidecarJob extends SidecarJobReader implements RemoteJob {
  readonly options: RemoteJobOptions;
  readonly availability: AvailabilityProvider;
  readonly #parts: JobParts;
  readonly #runParts: RunParts;
  #run: RemoteRun;
  /** The last resume, if one is under way. */
  #resuming: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(parts: JobParts, options: RemoteJobOptions) {
    super(parts);
    this.options = options;
    this.#parts = parts;
    this.#runParts = { ...parts, look: (signal) => this.#look(signal) };
    this.#run = new RemoteRun(this.#runParts);
    this.availability = {
      isAvailable: () => this.#run.isAvailable(),
      whenAvailable: () => this.#run.whenAvailable(),
    };
  }

  /** Whether it is closed, or about to be. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** @throws {TidemarkError} `settings-conflict` when it was taken with another fingerprint */
  checkSame({ fingerprint }: RemoteJobOptions): void {
    const found = this.options.fingerprint;
    if (fingerprint === undefined || fingerprint === found) return;
    throw otherFingerprint(this.id, found, fingerprint);
  }

  get run(): number | undefined {
    return this.#run.number;
  }

  writer(id: string): RemoteWriter {
    return this.#run.writer(id);
  }

  async resume(options: ResumeOptions = {}): Promise<ResumeResult> {
    this.#checkOpen();
    options.signal?.throwIfAborted();
    if (options.at === "tail") await this.#keepTail(options.signal);
    this.#run.end(runIsOver(this.id, this.#run.number));
    const resumed = this.#resuming.then(() => this.#resume(options));
    this.#resuming = resumed.catch(() => {
      // Whoever asked for it is told.
    });
    return await orAborted(resumed, options.signal);
  }

  async checkpoint(options: RemoteCheckpointOptions = {}): Promise<CheckpointMetadata> {
    return await this.#run.checkpoint(options);
  }

  async abortCheckpoint(uuid: string, options: WaitOptions = {}): Promise<boolean> {
    return await this.#parts.calls.abortCheckpoint(this.id, uuid, options);
  }

  async unpublishedCheckpoints(options: WaitOptions = {}): Promise<CheckpointAttempt[]> {
    return await this.#parts.calls.unpublishedCheckpoints(this.id, options);
  }

  async writeState(
    name: string,
    content: StateContent,
    options: WaitOptions = {},
  ): Promise<StateMetadata> {
    await this.#run.attached(options.signal);
    return await this.#parts.calls.writeState(this.id, name, content, options);
  }

  async retireWriter(id: string, options: WaitOptions = {}): Promise<WriterPosition> {
    await this.writer(id).persist(options);
    return await this.#parts.calls.retireWriter(this.id, id, options);
  }

  async collect(options: CollectionOptions = {}): Promise<CollectionReport> {
    return await this.#parts.calls.collect(this.id, options);
  }

  async explain(
    key: string,
    options: Omit<CollectionOptions, "dryRun"> = {},
  ): Promise<ObjectExplanation> {
    return await this.#parts.calls.explain(this.id, key, options);
  }

  async deleteCheckpoint(uuid: string, options: WaitOptions = {}): Promise<CollectionReport> {
    return await this.#parts.calls.deleteCheckpoint(this.id, uuid, options);
  }

  async pin(uuid: string, reason?: string, options: WaitOptions = {}): Promise<CheckpointMetadata> {
    return await this.#parts.calls.pin(this.id, uuid, reason, options);
  }

  async unpin(uuid: string, options: WaitOptions = {}): Promise<CheckpointMetadata> {
    return await this.#parts.calls.unpin(this.id, uuid, options);
  }

  async retention(options: WaitOptions = {}): Promise<RetentionPolicy> {
    return (await this.describe(options)).retention;
  }

  async setRetention(policy: RetentionPolicy, options: WaitOptions = {}): Promise<void> {
    await this.#parts.calls.setRetention(this.id, policy, options);
  }

  override close({ signal }: WaitOptions = {}): Promise<void> {
    this.#closing ??= this.#close();
    const giveUp = (): void => this.#run.end(handleIsClosed(this.id));
    if (signal?.aborted === true) giveUp();
    else signal?.addEventListener("abort", giveUp, { once: true });
    return orAborted(this.#closing, signal)
      .finally(() => signal?.removeEventListener("abort", giveUp));
  }

  /** What was appended belongs to the tail, as far as it can still be sent. */
  async #keepTail(signal: AbortSignal | undefined): Promise<void> {
    const run = this.#run;
    if (!run.isRunning) return;
    try {
      await run.drain(signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (run.isRunning && isTransient(error)) throw error;
    }
  }

  async #close(): Promise<void> {
    try {
      await this.#run.drain();
    } finally {
      this.#run.end(handleIsClosed(this.id));
    }
  }

  async #resume(options: ResumeOptions): Promise<ResumeResult> {
    if (this.options.fingerprint !== undefined) await this.#look(options.signal);
    const resumed = await this.#made(() => this.#parts.calls.resume(this.id, options));
    this.#checkOpen();
    this.#run = new RemoteRun(this.#runParts, resumed);
    return resumed;
  }

  async #look(signal?: AbortSignal): Promise<RunStart> {
    const { fingerprint } = this.options;
    const described = await this.#made(() => this.#parts.calls.job(this.id, { signal }));
    if (fingerprint === undefined || fingerprint === described.fingerprint) return described;
    throw otherFingerprint(this.id, described.fingerprint, fingerprint);
  }

  /** Does something with the job, which is made before if that is wanted and it is missing. */
  async #made<Result>(act: () => Promise<Result>): Promise<Result> {
    const { fingerprint, create = true } = this.options;
    try {
      return await act();
    } catch (error) {
      if (!create || !hasCode(error, "job-not-found")) throw error;
    }
    await this.#parts.calls.createJob(this.id, { fingerprint });
    return await act();
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw handleIsClosed(this.id);
  }
}

function runIsOver(job: string, run: number | undefined): TidemarkError {
  const which = run === undefined ? "The run" : `Run ${run}`;
  return new TidemarkError(
    "fenced",
    `${which} of job ${job} is over: it was resumed; take its writers again once that has answered`,
    { outcome: "unknown", details: { job, run } },
  );
}

function handleIsClosed(job: string): TidemarkError {
  return new TidemarkError("closed", `Job ${job} is closed: take it from a client again`, {
    outcome: "unknown",
    details: { job },
  });
}

function otherFingerprint(
  job: string,
  found: bigint | undefined,
  wanted: bigint,
): TidemarkError {
  const has = found === undefined ? "was taken without a fingerprint" : `has fingerprint ${found}`;
  return new TidemarkError(
    "settings-conflict",
    `Job ${job} ${has}, not with ${wanted}: use another job for another pipeline`,
    { details: { job, found, wanted } },
  );
}
