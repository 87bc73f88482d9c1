/**
 * The HTTP API of a sidecar, one call a request.
 *
 * Owns: what is sent, how answers are read, which requests may be repeated.
 * Does not own: attempts (`transport.ts`), offsets, batches (`remote_writer.ts`).
 * @module
 */
import type {
  AppendResult,
  At,
  CheckpointAttempt,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  JobUsage,
  KeyGroupRange,
  ObjectExplanation,
  PersistResult,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  StateContent,
  StateMetadata,
  StateSource,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
  WriterPosition,
} from "../engine/types.ts";
import { checkpointOf, describedJob, listOf, resumedOf } from "./_answers.ts";
import { readChangeStream, type RemotePieces } from "./_change_stream.ts";
import type { JsonObject } from "./_json.ts";
import { checkpointPath, jobPath, queryOf, writerPath } from "./_paths.ts";
import { unreachable } from "./_problem.ts";
import { readStateStream, sendPieces } from "./_state_stream.ts";
import { StoreCalls } from "./store_calls.ts";
import type { CreateJobOptions, JobDescription } from "./types.ts";

export type { RemotePieces } from "./_change_stream.ts";

const CBOR_SEQUENCE = "application/cbor-seq";
const BYTES = "application/octet-stream";

/** Where and how to append. */
export interface AppendPlace extends WaitOptions {
  /** Expected offset, so that a repeated append is taken once. @default at the end */
  offset?: number;
  /** The pipeline's run. @default none */
  run?: number;
  /** Whether to wait until the changes are durable. @default "durable" */
  ack?: "durable" | "buffered";
}

/** What to restore. */
export interface RestoreWish extends WaitOptions {
  /** @default "latest" */
  at?: string;
  /** First offset. @default 0 */
  from?: number;
  /** Which key groups. @default all */
  keyGroups?: KeyGroupRange;
  /** Whether to read an older checkpoint when the wanted one can't be read whole. @default false */
  fallback?: boolean;
}

/** A checkpoint to be made. */
export type CheckpointWish = Omit<CheckpointOptions, "onProgress">;

/** Talks to one sidecar. */
export class SidecarCalls extends StoreCalls {
  /** Makes the job unless it is there, sets what is given, and describes it. */
  async createJob(
    job: string,
    { signal, ...wish }: CreateJobOptions = {},
  ): Promise<JobDescription> {
    return describedJob(await this.caller.put(jobPath(job), { ...wish }, signal));
  }

  /** Describes the job. */
  async job(job: string, { signal }: WaitOptions = {}): Promise<JobDescription> {
    const { attemptMsMax } = this.caller.limits;
    const call = { path: jobPath(job), repeat: "lost", attemptMsMax, signal } as const;
    return describedJob(await this.caller.transport.json(call));
  }

  /**
   * Appends encoded changes as one unit.
   *
   * @param changes A CBOR sequence of `[keyGroup, bytes]`.
   */
  async append(
    job: string,
    writer: string,
    changes: Uint8Array,
    place: AppendPlace = {},
  ): Promise<AppendResult> {
    const { offset, run, ack, signal } = place;
    return await this.caller.transport.json({
      method: "POST",
      path: `${writerPath(job, writer)}/changes${queryOf({ ack })}`,
      headers: {
        "content-type": CBOR_SEQUENCE,
        "tidemark-offset": textOf(offset),
        "tidemark-run": textOf(run),
      },
      body: changes,
      lostOutcome: "unknown",
      // Without an offset it might be taken twice.
      repeat: offset === undefined ? "refused" : "lost",
      attemptMsMax: this.caller.limits.attemptMsMax,
      signal,
    }) as unknown as AppendResult;
  }

  /** Makes durable what was appended; tells where the change sets lie. */
  async persist(
    job: string,
    writer: string,
    from?: number,
    options: WaitOptions = {},
  ): Promise<PersistResult> {
    const path = `${writerPath(job, writer)}/persist`;
    const call = this.caller.jsonCall("POST", path, { from }, options.signal);
    return await this.caller.transport.json({
      ...call,
      repeat: "lost",
    }) as unknown as PersistResult;
  }

  /**
   * Writes a state object ahead of its checkpoint, which names it as `{ written: uuid }`.
   *
   * @param content The state, whole or piece by piece.
   */
  async writeState(
    job: string,
    name: string,
    content: StateContent,
    options: WaitOptions = {},
  ): Promise<StateMetadata> {
    const call = {
      method: "POST",
      path: `${jobPath(job)}/states/${encodeURIComponent(name)}`,
      headers: { "content-type": BYTES },
      signal: options.signal,
    } as const;
    if (!(content instanceof Uint8Array)) {
      const send = (body: ReadableStream<Uint8Array>) =>
        this.caller.transport.json({ ...call, body, repeat: "never" });
      return await sendPieces(content, send) as unknown as StateMetadata;
    }
    // One whose answer is lost is never named, and given up by the sidecar.
    const attemptMsMax = this.caller.limits.longAttemptMsMax;
    const whole = { ...call, body: content, repeat: "lost", attemptMsMax } as const;
    return await this.caller.transport.json(whole) as unknown as StateMetadata;
  }

  /**
   * Reads a state of a checkpoint.
   *
   * @returns Its content. The iteration ends only when all of it came, as the sidecar said it would be.
   */
  async *readState(
    job: string,
    name: string,
    at: At,
    options: WaitOptions = {},
  ): AsyncGenerator<Uint8Array> {
    const path = `${checkpointPath(job, at)}/states/${encodeURIComponent(name)}`;
    const { signal } = options;
    const attemptMsMax = this.caller.limits.longAttemptMsMax;
    const answer = await this.caller.transport.stream({
      path,
      repeat: "lost",
      attemptMsMax,
      signal,
    });
    const signals = [this.caller.transport.closed, signal];
    yield* readStateStream(answer, { what: `state ${name} of job ${job}`, url: this.url, signals });
  }

  /**
   * Makes a checkpoint; the states that are given with their content are written before. With an idempotency key a lost
   * answer is asked for again.
   */
  async checkpoint(job: string, wish: CheckpointWish = {}): Promise<CheckpointMetadata> {
    const { signal, states: given, run, idempotencyKey, ...facts } = wish;
    const states = given === undefined
      ? {}
      : { states: await this.writeStates(job, given, signal) };
    const path = `${jobPath(job)}/checkpoints`;
    const call = this.caller.jsonCall("POST", path, { ...facts, ...states }, signal);
    return checkpointOf(
      await this.caller.transport.json({
        ...call,
        headers: {
          ...call.headers,
          "idempotency-key": idempotencyKey,
          "tidemark-run": textOf(run),
        },
        repeat: idempotencyKey === undefined ? "refused" : "lost",
      }),
    );
  }

  /** Gives up a checkpoint that is being made; answers whether that was in time. */
  async abortCheckpoint(job: string, uuid: string, options: WaitOptions = {}): Promise<boolean> {
    const path = `${checkpointPath(job, uuid)}/abort`;
    const call = { method: "POST", path, lostOutcome: "unknown", repeat: "lost" } as const;
    return (await this.caller.transport.json({ ...call, ...options })).isAborted === true;
  }

  /** Lists the checkpoints that are not published. */
  async unpublishedCheckpoints(
    job: string,
    options: WaitOptions = {},
  ): Promise<CheckpointAttempt[]> {
    const answer = await this.caller.get(`${jobPath(job)}/checkpoints?unpublished=true`, options);
    return listOf(answer, "unpublished");
  }

  /** Lists the checkpoints, oldest first. */
  async checkpoints(job: string, options: WaitOptions = {}): Promise<CheckpointMetadata[]> {
    const answer = await this.caller.get(`${jobPath(job)}/checkpoints`, options);
    return listOf<JsonObject>(answer, "checkpoints").map((listed) => checkpointOf(listed));
  }

  /** Shows one checkpoint: `latest`, or by its uuid. */
  async checkpointDetails(
    job: string,
    at: At,
    options: WaitOptions = {},
  ): Promise<CheckpointDetails> {
    return checkpointOf(await this.caller.get(checkpointPath(job, at), options));
  }

  /** Changes how many checkpoints stay. */
  async setRetention(
    job: string,
    policy: RetentionPolicy,
    options: WaitOptions = {},
  ): Promise<void> {
    await this.caller.put(`${jobPath(job)}/retention`, { ...policy }, options.signal);
  }

  /** Keeps a checkpoint whatever retention says. */
  async pin(
    job: string,
    uuid: string,
    reason?: string,
    options: WaitOptions = {},
  ): Promise<CheckpointMetadata> {
    const path = `${checkpointPath(job, uuid)}/pin`;
    return checkpointOf(await this.caller.put(path, { reason }, options.signal));
  }

  /** Leaves a checkpoint to retention again. */
  async unpin(job: string, uuid: string, options: WaitOptions = {}): Promise<CheckpointMetadata> {
    const path = `${checkpointPath(job, uuid)}/pin`;
    return checkpointOf(
      await this.caller.transport.json({
        method: "DELETE",
        path,
        lostOutcome: "unknown",
        repeat: "lost",
        ...options,
      }),
    );
  }

  /** Removes the checkpoints that retention lets go, and the objects that nothing needs. */
  async collect(job: string, options: CollectionOptions = {}): Promise<CollectionReport> {
    const { except, dryRun, quarantineMs, signal } = options;
    const body = { dryRun, quarantineMs, except: except && [...except] };
    const call = this.caller.jsonCall("POST", `${jobPath(job)}/gc`, body, signal);
    const isLook = dryRun === true;
    return await this.caller.transport.json({
      ...call,
      lostOutcome: isLook ? "not-applied" : "unknown",
      repeat: isLook ? "lost" : "refused",
      attemptMsMax: 0,
    }) as unknown as CollectionReport;
  }

  /** Says why an object, or a checkpoint, stays or goes. */
  async explain(
    job: string,
    key: string,
    options: Omit<CollectionOptions, "dryRun"> = {},
  ): Promise<ObjectExplanation> {
    const { except, quarantineMs, signal } = options;
    const body = { key, quarantineMs, except: except && [...except] };
    const answer = await this.caller.ask(`${jobPath(job)}/explain`, body, signal);
    return answer as unknown as ObjectExplanation;
  }

  /** Deletes one checkpoint, and what it alone needed. */
  async deleteCheckpoint(
    job: string,
    uuid: string,
    options: WaitOptions = {},
  ): Promise<CollectionReport> {
    return await this.caller.transport.json({
      method: "DELETE",
      path: checkpointPath(job, uuid),
      lostOutcome: "unknown",
      repeat: "refused",
      ...options,
    }) as unknown as CollectionReport;
  }

  /** Ends a writer where it stands, with the next published checkpoint. */
  async retireWriter(
    job: string,
    writer: string,
    options: WaitOptions = {},
  ): Promise<WriterPosition> {
    const path = `${writerPath(job, writer)}/retire`;
    const call = { method: "POST", path, lostOutcome: "unknown", repeat: "lost" } as const;
    return await this.caller.transport.json({ ...call, ...options }) as unknown as WriterPosition;
  }

  /** Ends the active change set; answers the number of the one that is active now. */
  async rollWriter(job: string, writer: string, options: WaitOptions = {}): Promise<number> {
    const path = `${writerPath(job, writer)}/roll`;
    const call = { method: "POST", path, lostOutcome: "unknown", repeat: "lost" } as const;
    return Number((await this.caller.transport.json({ ...call, ...options })).sequenceNumber);
  }

  /** Gives up what lies below a change set of this run, with the next published checkpoint. */
  async truncateWriter(
    job: string,
    writer: string,
    to: number,
    options: WaitOptions = {},
  ): Promise<WriterPosition> {
    const path = `${writerPath(job, writer)}/truncate`;
    const call = this.caller.jsonCall("POST", path, { to }, options.signal);
    const answer = await this.caller.transport.json({
      ...call,
      lostOutcome: "unknown",
      repeat: "lost",
    });
    return answer as unknown as WriterPosition;
  }

  /** Counts the room that the job takes. */
  async usage(job: string, options: WaitOptions = {}): Promise<JobUsage> {
    return await this.caller.get(`${jobPath(job)}/usage`, options) as unknown as JobUsage;
  }

  /** Reads what the job needs and answers what is bad. */
  async verify(
    job: string,
    { level, signal }: Omit<VerifyOptions, "onProgress"> = {},
  ): Promise<VerifyReport> {
    return await this.caller.ask(
      `${jobPath(job)}/verify`,
      { level },
      signal,
    ) as unknown as VerifyReport;
  }

  /** Rewinds the job to where its pipeline starts again. One whose answer is lost was for nobody: it is repeated. */
  async resume(job: string, { signal, ...body }: ResumeOptions = {}): Promise<ResumeResult> {
    const call = this.caller.jsonCall("POST", `${jobPath(job)}/resume`, { ...body }, signal);
    return resumedOf(await this.caller.transport.json({ ...call, repeat: "lost" }));
  }

  /** Reads the changes of one writer back. */
  async restore(job: string, writer: string, wish: RestoreWish = {}): Promise<RemotePieces> {
    const { at, from, keyGroups, fallback, signal } = wish;
    const query = queryOf({ at, from, keyGroups: keyGroups?.join("-"), fallback });
    const path = `${writerPath(job, writer)}/changes${query}`;
    const answer = await this.caller.transport.stream({
      path,
      headers: { accept: CBOR_SEQUENCE },
      repeat: "lost",
      attemptMsMax: this.caller.limits.longAttemptMsMax,
      signal,
    });
    if (answer.body === null) throw unreachable(this.url, "the answer has no body", "not-applied");
    const signals = [this.caller.transport.closed, signal];
    return readChangeStream(answer.body, `writer ${writer} of job ${job}`, signals);
  }

  /** Names every state of a checkpoint to be made: one that is content is written for it. */
  async writeStates(
    job: string,
    states: NonNullable<CheckpointOptions["states"]>,
    signal?: AbortSignal,
  ): Promise<Record<string, StateSource>> {
    const named: Record<string, StateSource> = {};
    for (const [name, source] of Object.entries(states)) {
      const isContent = source instanceof Uint8Array || Symbol.asyncIterator in source;
      named[name] = isContent
        ? { written: (await this.writeState(job, name, source, { signal })).uuid }
        : source;
    }
    return named;
  }
}

function textOf(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
