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
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
  JobDeletion,
  JobImport,
  JobUsage,
  KeyGroupRange,
  ObjectExplanation,
  ResumeOptions,
  ResumeResult,
  RetentionPolicy,
  SalvageOptions,
  SalvageReport,
  StateContent,
  StateMetadata,
  StateSource,
  StoreStatus,
  VerifyOptions,
  VerifyReport,
  WaitOptions,
  WriterPosition,
} from "../engine/types.ts";
import { checkpointOf, describedJob, listOf, resumedOf } from "./_answers.ts";
import { readChangeStream, type RemotePieces } from "./_change_stream.ts";
import { type JsonObject, toJson } from "./_json.ts";
import { checkpointPath, jobPath, queryOf, writerPath } from "./_paths.ts";
import { unreachable } from "./_problem.ts";
import { readArchiveStream, readStateStream, streamOf } from "./_state_stream.ts";
import type { Call, Transport } from "./transport.ts";

export type { RemotePieces } from "./_change_stream.ts";

const CBOR_SEQUENCE = "application/cbor-seq";
const BYTES = "application/octet-stream";

/** A job as the sidecar describes it. */
export interface JobFacts {
  readonly job: string;
  readonly fingerprint: bigint;
  readonly epoch: number;
  readonly run: number;
  /** Uuid of the checkpoint that the writers go on from; null before the first. */
  readonly head: string | null;
  readonly writers: readonly WriterPosition[];
  readonly retention: RetentionPolicy;
}

/** The store and its sidecar. */
export interface StoreFacts extends Omit<StoreStatus, "jobs"> {
  readonly store: string;
  readonly location: string;
  readonly version: string;
  readonly formatVersion: number;
  readonly uptimeMs: number;
  /** How many jobs there are. */
  readonly jobs: number;
  readonly openJobs: StoreStatus["jobs"];
}

/** What a job is made with. */
export interface JobWish extends WaitOptions {
  /** Identifies the pipeline's shape, 0 to 2^64 - 1. @default the job's own, 0n when it is new */
  fingerprint?: bigint;
  /** How many checkpoints stay; takes the place of what was there. @default what was there */
  retention?: RetentionPolicy;
}

/** Where and how to append. */
export interface AppendPlace extends WaitOptions {
  /** Expected offset, so that a repeated append is taken once. @default at the end */
  offset?: number;
  /** The pipeline's run. @default none */
  run?: number;
  /** Whether to wait until the changes are durable. @default "durable" */
  ack?: "durable" | "buffered";
  /** How long an attempt may take; 0: as long as it takes. @default 0 */
  attemptMsMax?: number;
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

/** What to export. */
export interface ArchiveWish extends WaitOptions {
  /** @default "tail" */
  at?: At;
}

/** A checkpoint to be made. */
export interface CheckpointWish extends Omit<CheckpointOptions, "onProgress"> {
  /** The pipeline's run; another one than the job's is fenced. @default any */
  run?: number;
}

/** Talks to one sidecar. */
export class SidecarCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Address of the sidecar. */
  get url(): string {
    return this.#transport.url;
  }

  /** Makes the job unless it is there, sets what is given, and describes it. */
  async createJob(job: string, { signal, ...wish }: JobWish = {}): Promise<JobFacts> {
    return describedJob(await this.#put(jobPath(job), { ...wish }, signal));
  }

  /** Describes the job. */
  async job(job: string, options: WaitOptions = {}): Promise<JobFacts> {
    return describedJob(await this.#get(jobPath(job), options));
  }

  /** Names of the jobs. */
  async jobs(options: WaitOptions = {}): Promise<string[]> {
    const jobs = listOf<{ job: string }>(await this.#get("/v1/jobs", options), "jobs");
    return jobs.map(({ job }) => job);
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
    const { offset, run, ack, attemptMsMax, signal } = place;
    return await this.#transport.json({
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
      attemptMsMax,
      signal,
    }) as unknown as AppendResult;
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
    const isWhole = content instanceof Uint8Array;
    return await this.#transport.json({
      method: "POST",
      path: `${jobPath(job)}/states/${encodeURIComponent(name)}`,
      headers: { "content-type": BYTES },
      body: isWhole ? content : streamOf(content),
      // One whose answer is lost is never named, and given up by the sidecar.
      repeat: isWhole ? "lost" : "never",
      signal: options.signal,
    }) as unknown as StateMetadata;
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
    const answer = await this.#transport.stream({ path, repeat: "lost", signal: options.signal });
    const signals = [this.#transport.closed, options.signal];
    yield* readStateStream(answer, { what: `state ${name} of job ${job}`, url: this.url, signals });
  }

  /** Deletes a whole job; what can't be undone is confirmed by its name. */
  async deleteJob(job: string, { signal }: WaitOptions = {}): Promise<JobDeletion> {
    return await this.#transport.json({
      method: "DELETE",
      path: `${jobPath(job)}${queryOf({ confirm: job })}`,
      lostOutcome: "unknown",
      repeat: "never",
      signal,
    }) as unknown as JobDeletion;
  }

  /** How the store and the sidecar are. */
  async store(options: WaitOptions = {}): Promise<StoreFacts> {
    return await this.#get("/v1/store", options) as unknown as StoreFacts;
  }

  /**
   * Exports a whole job.
   *
   * @param at `tail` is all of it, a checkpoint that one alone. @default "tail"
   * @returns The archive. The iteration ends only when all of it came.
   */
  async *exportJob(
    job: string,
    { at, signal }: ArchiveWish = {},
  ): AsyncGenerator<Uint8Array> {
    const path = `${jobPath(job)}/archive${queryOf({ at })}`;
    const answer = await this.#transport.stream({ path, repeat: "lost", signal });
    const signals = [this.#transport.closed, signal];
    yield* readArchiveStream(answer, { what: `the archive of job ${job}`, url: this.url, signals });
  }

  /** Makes a job from an archive, under a name that is free. */
  async importJob(
    job: string,
    archive: AsyncIterable<Uint8Array>,
    { signal }: WaitOptions = {},
  ): Promise<JobImport> {
    return await this.#transport.json({
      method: "PUT",
      path: `${jobPath(job)}/archive`,
      headers: { "content-type": "application/x-tar" },
      body: streamOf(archive),
      lostOutcome: "unknown",
      repeat: "never",
      signal,
    }) as unknown as JobImport;
  }

  /** Makes a checkpoint; the states that are given with their content are written before. */
  async checkpoint(job: string, wish: CheckpointWish = {}): Promise<CheckpointMetadata> {
    const { signal, states: given, run, ...facts } = wish;
    const states = given === undefined ? {} : { states: await this.#named(job, given, signal) };
    const path = `${jobPath(job)}/checkpoints`;
    const call = this.#jsonCall("POST", path, { ...facts, ...states }, signal);
    const headers = { ...call.headers, "tidemark-run": textOf(run) };
    return checkpointOf(await this.#transport.json({ ...call, headers }));
  }

  /** Lists the checkpoints, oldest first. */
  async checkpoints(job: string, options: WaitOptions = {}): Promise<CheckpointMetadata[]> {
    const answer = await this.#get(`${jobPath(job)}/checkpoints`, options);
    return listOf<JsonObject>(answer, "checkpoints").map((listed) => checkpointOf(listed));
  }

  /** Shows one checkpoint: `latest`, or by its uuid. */
  async checkpointDetails(
    job: string,
    at: At,
    options: WaitOptions = {},
  ): Promise<CheckpointDetails> {
    return checkpointOf(await this.#get(checkpointPath(job, at), options));
  }

  /** Keeps a checkpoint whatever retention says. */
  async pin(
    job: string,
    uuid: string,
    reason?: string,
    options: WaitOptions = {},
  ): Promise<CheckpointMetadata> {
    const path = `${checkpointPath(job, uuid)}/pin`;
    return checkpointOf(await this.#put(path, { reason }, options.signal));
  }

  /** Leaves a checkpoint to retention again. */
  async unpin(job: string, uuid: string, options: WaitOptions = {}): Promise<CheckpointMetadata> {
    const path = `${checkpointPath(job, uuid)}/pin`;
    return checkpointOf(
      await this.#transport.json({
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
    const call = this.#jsonCall("POST", `${jobPath(job)}/gc`, body, signal);
    const isLook = dryRun === true;
    return await this.#transport.json({
      ...call,
      lostOutcome: isLook ? "not-applied" : "unknown",
      repeat: isLook ? "lost" : "refused",
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
    return await this.#ask(`${jobPath(job)}/explain`, body, signal) as unknown as ObjectExplanation;
  }

  /** Deletes one checkpoint, and what it alone needed. */
  async deleteCheckpoint(
    job: string,
    uuid: string,
    options: WaitOptions = {},
  ): Promise<CollectionReport> {
    return await this.#transport.json({
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
    return await this.#transport.json({ ...call, ...options }) as unknown as WriterPosition;
  }

  /** Counts the room that the job takes. */
  async usage(job: string, options: WaitOptions = {}): Promise<JobUsage> {
    return await this.#get(`${jobPath(job)}/usage`, options) as unknown as JobUsage;
  }

  /** Reads what the job needs and answers what is bad. */
  async verify(
    job: string,
    { level, signal }: Omit<VerifyOptions, "onProgress"> = {},
  ): Promise<VerifyReport> {
    return await this.#ask(`${jobPath(job)}/verify`, { level }, signal) as unknown as VerifyReport;
  }

  /** Brings back a job that can't be opened: says what is lost, and does it when that plan is accepted. */
  async salvage(
    job: string,
    { signal, ...body }: Omit<SalvageOptions, "takeOver"> = {},
  ): Promise<SalvageReport> {
    const path = `${jobPath(job)}/salvage`;
    const isLook = body.accept === undefined || body.dryRun === true;
    const answer = isLook ? await this.#ask(path, body, signal) : await this.#transport.json({
      ...this.#jsonCall("POST", path, body, signal),
      repeat: "refused",
    });
    return answer as unknown as SalvageReport;
  }

  /** Rewinds the job to where its pipeline starts again. One whose answer is lost was for nobody: it is repeated. */
  async resume(job: string, { signal, ...wish }: ResumeOptions = {}): Promise<ResumeResult> {
    const call = this.#jsonCall("POST", `${jobPath(job)}/resume`, { ...wish }, signal);
    return resumedOf(await this.#transport.json({ ...call, repeat: "lost" }));
  }

  /** Reads the changes of one writer back. */
  async restore(job: string, writer: string, wish: RestoreWish = {}): Promise<RemotePieces> {
    const { at, from, keyGroups, fallback, signal } = wish;
    const query = queryOf({ at, from, keyGroups: keyGroups?.join("-"), fallback });
    const path = `${writerPath(job, writer)}/changes${query}`;
    const call = { path, headers: { accept: CBOR_SEQUENCE }, repeat: "lost", signal } as const;
    const answer = await this.#transport.stream(call);
    if (answer.body === null) throw unreachable(this.url, "the answer has no body", "not-applied");
    const signals = [this.#transport.closed, signal];
    return readChangeStream(answer.body, `writer ${writer} of job ${job}`, signals);
  }

  /** Names every state: one that is content is written for it. */
  async #named(
    job: string,
    states: NonNullable<CheckpointOptions["states"]>,
    signal: AbortSignal | undefined,
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

  async #get(path: string, { signal }: WaitOptions): Promise<JsonObject> {
    return await this.#transport.json({ path, repeat: "lost", signal });
  }

  /** Sets something: as often as it takes. */
  async #put(path: string, body: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    return await this.#transport.json({
      ...this.#jsonCall("PUT", path, body, signal),
      repeat: "lost",
    });
  }

  /** Asks for something that changes nothing. */
  async #ask(path: string, body: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    return await this.#transport.json({
      ...this.#jsonCall("POST", path, body, signal),
      lostOutcome: "not-applied",
      repeat: "lost",
    });
  }

  #jsonCall(method: "PUT" | "POST", path: string, body: JsonObject, signal?: AbortSignal): Call {
    return {
      method,
      path,
      headers: { "content-type": "application/json" },
      body: toJson(body),
      lostOutcome: "unknown",
      repeat: "refused",
      signal,
    };
  }
}

function textOf(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
