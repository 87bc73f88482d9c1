/**
 * One run of a job, as this client takes part in it: after a resume another one begins.
 *
 * Owns: the run's number and where its writers began, what is held in memory, which appends wait for a checkpoint that
 * is being made. Does not own: batches (`_remote_writer.ts`), requests.
 */
import { orAborted } from "../engine/checkpoint/or_aborted.ts";
import { hasCode, TidemarkError } from "../engine/errors.ts";
import { checkName } from "../engine/paths.ts";
import type { Clock } from "../engine/port/clock.ts";
import type { Random } from "../engine/port/random.ts";
import type {
  AppendAtOptions,
  AppendResult,
  CheckpointMetadata,
  EncodedChanges,
  PersistResult,
  WaitOptions,
} from "../engine/types.ts";
import { UploadThrottle } from "../engine/upload/upload_throttle.ts";
import { newUuid } from "../engine/uuid.ts";
import type { Batch } from "./_batch_queue.ts";
import { RunWriter } from "./_remote_writer.ts";
import type { WriterContext } from "./_writer_context.ts";
import type { ClientSettings } from "./client_settings.ts";
import type { CheckpointWish, SidecarCalls } from "./sidecar_calls.ts";

/** Where a run began. */
export interface RunStart {
  readonly run: number;
  readonly writers: readonly { readonly writer: string; readonly nextOffset: number }[];
}

/** What a run works with. */
export interface RunParts {
  readonly job: string;
  readonly calls: SidecarCalls;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: ClientSettings;
  /** Looks which run is going on, and makes the job where that is wanted. */
  readonly look: (signal: AbortSignal) => Promise<RunStart>;
}

/** A run. */
export class RemoteRun implements WriterContext {
  readonly throttle: UploadThrottle;
  readonly #parts: RunParts;
  readonly #writers = new Map<string, RunWriter>();
  readonly #ending = new AbortController();
  /** Where the checkpoints that are being made, or wait their turn, cut each writer. */
  readonly #cuts: ReadonlyMap<string, number>[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #number: number | undefined;
  #starts: ReadonlyMap<string, number> | undefined;
  #attaching: Promise<void> | undefined;
  #ended: TidemarkError | undefined;
  /** Who waits for room. */
  #waiting = new Set<(error: unknown) => void>();

  /** @param start Where it began; where that is not known, the run that is going on is joined. */
  constructor(parts: RunParts, start?: RunStart) {
    this.#parts = parts;
    const { inFlightBytesMax, batchBytesMax } = parts.settings;
    this.throttle = new UploadThrottle(inFlightBytesMax, inFlightBytesMax + batchBytesMax, {
      onShortage: () => this.#relieve(),
    });
    if (start !== undefined) this.#begin(start);
  }

  get settings(): ClientSettings {
    return this.#parts.settings;
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  /** Its number, once that is known. */
  get number(): number | undefined {
    return this.#number;
  }

  /** Whether it has not ended. */
  get isRunning(): boolean {
    return this.#ended === undefined;
  }

  /** The writer of this name. @throws {TidemarkError} `invalid-name`; what the run ended with */
  writer(id: string): RunWriter {
    this.#checkUsable();
    const found = this.#writers.get(id);
    if (found !== undefined) return found;
    checkName("writer", id);
    const writer = new RunWriter(id, this);
    this.#writers.set(id, writer);
    return writer;
  }

  /** Where a writer stood when the run began; undefined while that is not known. */
  startOf(writer: string): number | undefined {
    return this.#starts === undefined ? undefined : this.#starts.get(writer) ?? 0;
  }

  /** How many changes of a writer may be sent: not those that a checkpoint under way must not hold. */
  limitOf(writer: string): number {
    const [cut] = this.#cuts;
    return cut === undefined ? Infinity : cut.get(writer) ?? 0;
  }

  /** Waits until it is known which run this is. */
  attached(signal?: AbortSignal): Promise<void> {
    if (this.#starts !== undefined) return Promise.resolve();
    this.#attaching ??= this.#attach().finally(() => this.#attaching = undefined);
    return orAborted(this.#attaching, signal);
  }

  /** Sends a batch at its offset, until it is durable. */
  async append(id: string, batch: Batch): Promise<void> {
    await this.attached();
    const offset = this.startOf(id)! + batch.from;
    const { calls, job } = this.#parts;
    const result = await calls.append(job, id, batch.bytes, {
      offset,
      run: this.#number,
      signal: this.#ending.signal,
    });
    const wanted = this.startOf(id)! + batch.to;
    if (result.nextOffset === wanted && result.ack === "durable") return;
    throw new TidemarkError(
      "internal",
      `Cannot rely on the answer to an append to writer ${id} of job ${job}: it says that the next ` +
        `offset is ${result.nextOffset} (${result.ack}), where ${wanted} (durable) was to be`,
      { outcome: "unknown", details: { job, writer: id, found: result.nextOffset, wanted } },
    );
  }

  /** Appends at an offset, past the batches. */
  async appendAt(
    id: string,
    offset: number | undefined,
    changes: EncodedChanges,
    options: AppendAtOptions,
  ): Promise<AppendResult> {
    this.#checkUsable();
    await this.attached(options.signal);
    const { calls, job } = this.#parts;
    const place = { offset, run: this.#number, ...options };
    return await calls.append(job, id, changes.bytes, place);
  }

  /** Where the durable change sets of a writer lie. */
  async segments(
    id: string,
    from: number | undefined,
    options: WaitOptions,
  ): Promise<PersistResult> {
    return await this.#parts.calls.persist(this.#parts.job, id, from, options);
  }

  /** Ends the active change set of a writer; answers the number of the next. */
  async roll(id: string, options: WaitOptions): Promise<number> {
    return await this.#parts.calls.rollWriter(this.#parts.job, id, options);
  }

  /** Gives up what lies below a change set. */
  async truncate(id: string, to: number, options: WaitOptions): Promise<void> {
    this.#checkUsable();
    await this.#parts.calls.truncateWriter(this.#parts.job, id, to, options);
  }

  /**
   * Sends everything that was appended, waits until it is durable, and for the checkpoints that were asked for.
   *
   * @throws what kept something from being durable, unless that was told before
   */
  async drain(signal?: AbortSignal): Promise<void> {
    const drained = [...this.#writers.values()].map((writer) => writer.drain());
    const results = await orAborted(Promise.allSettled([...drained, this.#turn]), signal);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /**
   * Makes a checkpoint of what was appended before the call, and of nothing else: what is appended meanwhile is not
   * sent before it is made. A signal ends the wait, not the checkpoint: that is over only when the sidecar says so.
   */
  async checkpoint(given: CheckpointWish): Promise<CheckpointMetadata> {
    this.#checkUsable();
    given.signal?.throwIfAborted();
    const idempotencyKey = given.idempotencyKey ?? newUuid(this.#parts);
    const wish = { ...fixed(given), idempotencyKey };
    const cut = new Map([...this.#writers].map(([id, writer]) => [id, writer.cut()]));
    this.#cuts.push(cut);
    const made = this.#turn.then(() => this.#make(cut, wish)).finally(() => {
      this.#cuts.shift();
      for (const writer of this.#writers.values()) writer.wake();
    });
    this.#turn = made.catch(() => {
      // Whoever asked for it is told; the next one has its turn all the same.
    });
    return await orAborted(made, wish.signal);
  }

  /** Whether an append would be taken. */
  isAvailable(): boolean {
    return this.#ended !== undefined || this.throttle.isAvailable();
  }

  /** Waits for room. @throws what kept it from being made, when that takes too long */
  whenAvailable(): Promise<void> {
    if (this.isAvailable()) return Promise.resolve();
    this.#relieve();
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      void this.throttle.whenAvailable().then(() => {
        this.#waiting.delete(reject);
        resolve();
      });
    });
  }

  /** Something could not be sent for now: who waits for room is told. */
  stalled(error: unknown): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reject of waiting) reject(error);
  }

  /** Something will never be taken: its writer ends with that, and the whole run where it is over. */
  failed(error: unknown): TidemarkError {
    const reason = asEnd(error);
    if (reason.code === "fenced") this.end(reason);
    return reason;
  }

  /** Ends the run: whatever waits fails with `reason`. */
  end(reason: TidemarkError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    for (const writer of this.#writers.values()) writer.end(reason);
    this.throttle.close(reason);
    this.#ending.abort(reason);
  }

  async #make(
    cut: ReadonlyMap<string, number>,
    wish: CheckpointWish,
  ): Promise<CheckpointMetadata> {
    const { signal } = wish;
    const flushed = [...cut].map(([id, upTo]) => this.#writers.get(id)!.flush(upTo));
    await orAborted(Promise.all(flushed), signal);
    await this.attached(signal);
    const { calls, job } = this.#parts;
    const states = wish.states && await calls.writeStates(job, wish.states, signal);
    signal?.throwIfAborted();
    try {
      const asked = { ...wish, states, run: this.#number, signal: this.#ending.signal };
      return await calls.checkpoint(job, asked);
    } catch (error) {
      this.#checkpointFailed(error);
      throw error;
    }
  }

  /**
   * One that may be made yet would hold what is sent after it, though its metadata knows nothing of that: nothing more
   * goes out in this run.
   */
  #checkpointFailed(error: unknown): void {
    const isKnown = error instanceof TidemarkError && error.outcome === "not-applied";
    if (hasCode(error, "fenced")) this.end(error);
    else if (!isKnown) this.end(checkpointIsLost(this.#parts.job, error));
  }

  async #attach(): Promise<void> {
    this.#begin(await this.#parts.look(this.#ending.signal));
  }

  #begin({ run, writers }: RunStart): void {
    this.#number = run;
    this.#starts = new Map(writers.map(({ writer, nextOffset }) => [writer, nextOffset]));
  }

  #relieve(): void {
    for (const writer of this.#writers.values()) writer.relieve();
  }

  #checkUsable(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }
}

/** What is asked for, as it is now: it may be sent much later, and more than once. */
function fixed(wish: CheckpointWish): CheckpointWish {
  const { metadata } = wish;
  if (metadata === undefined) return wish;
  const text: string | undefined = JSON.stringify(metadata);
  if (text !== undefined) return { ...wish, metadata: JSON.parse(text) };
  throw new TypeError(`Cannot make a checkpoint: its metadata is a ${typeof metadata}, no JSON`);
}

function checkpointIsLost(job: string, cause: unknown): TidemarkError {
  return new TidemarkError(
    "closed",
    `The run of job ${job} is over for this client: it is not known whether its checkpoint was ` +
      `made; resume to learn it, and go on from there`,
    { outcome: "unknown", details: { job }, cause },
  );
}

function asEnd(error: unknown): TidemarkError {
  if (error instanceof TidemarkError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new TidemarkError("internal", `Cannot append: ${reason}`, {
    outcome: "unknown",
    cause: error,
  });
}
