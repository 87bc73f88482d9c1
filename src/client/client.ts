/**
 * The HTTP API of a sidecar, as calls.
 *
 * Owns: requests, the reading of answers and problem documents.
 * Does not own: when to try again, what a rule means.
 * @module
 */
import { Xxh64 } from "../../wasm/mod.ts";
import { TidemarkError } from "../engine/errors.ts";
import { formatHash } from "../engine/format/hash_text.ts";
import type {
  AppendResult,
  At,
  CheckpointDetails,
  CheckpointMetadata,
  CheckpointOptions,
  CollectionOptions,
  CollectionReport,
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
  VerifyOptions,
  VerifyReport,
  WriterPosition,
} from "../engine/types.ts";
import { type JsonObject, parseJson, toJson } from "./_json.ts";
import { errorOfAnswer, unreachable } from "./_problem.ts";
import { readChangeStream, type RemoteRestore } from "./_change_stream.ts";

export type { RemoteRestore } from "./_change_stream.ts";

const CBOR_SEQUENCE = "application/cbor-seq";
const BYTES = "application/octet-stream";

/** A job as the sidecar describes it. */
export interface JobDescription {
  readonly job: string;
  readonly fingerprint: bigint;
  readonly epoch: number;
  readonly run: number;
  readonly writers: readonly WriterPosition[];
  readonly retention: RetentionPolicy;
}

/** What a job is made with. */
export interface RemoteJobOptions {
  /** Identifies the pipeline's shape, 0 to 2^64 - 1. @default the job's own, 0n when it is new */
  fingerprint?: bigint;
  /** How many checkpoints stay; takes the place of what was there. @default what was there */
  retention?: RetentionPolicy;
}

/** Where and how to append. */
export interface RemoteAppendOptions {
  /** Expected offset, so that a repeated append is taken once. @default at the end */
  offset?: number;
  /** The pipeline's run. @default none */
  run?: number;
  /** Whether to wait until the changes are durable. @default "durable" */
  ack?: "durable" | "buffered";
}

/** What to restore. */
export interface RemoteRestoreOptions {
  /** @default "latest" */
  at?: string;
  /** First offset. @default 0 */
  from?: number;
  /** Which key groups. @default all */
  keyGroups?: KeyGroupRange;
  /** Whether to read an older checkpoint when the wanted one can't be read whole. @default false */
  fallback?: boolean;
}

/** Options of a {@link TidemarkClient}. */
export interface ClientOptions {
  /** Sends a request. @default the runtime's own `fetch` */
  fetch?: (request: Request) => Promise<Response>;
}

/** Talks to one sidecar. */
export class TidemarkClient {
  readonly url: string;
  readonly #fetch: (request: Request) => Promise<Response>;

  /**
   * @param url Address of the sidecar, such as `http://127.0.0.1:7460`.
   * @throws {TypeError} when it is not an http or https URL
   */
  constructor(url: string, options: ClientOptions = {}) {
    this.url = checkUrl(url);
    this.#fetch = options.fetch ?? ((request) => fetch(request));
  }

  /** Makes the job unless it is there, sets what is given, and describes it. */
  async createJob(job: string, options: RemoteJobOptions = {}): Promise<JobDescription> {
    return describeJob(await this.#call("PUT", jobPath(job), "not-applied", { ...options }));
  }

  /** Describes the job. */
  async job(job: string): Promise<JobDescription> {
    return describeJob(await this.#get(jobPath(job)));
  }

  /** Names of the jobs. */
  async jobs(): Promise<string[]> {
    const { jobs } = await this.#get("/v1/jobs");
    if (!Array.isArray(jobs)) {
      throw unreachable(
        this.url,
        "the answer names no jobs, so it is no Tidemark sidecar",
        "not-applied",
      );
    }
    return (jobs as { job: string }[]).map(({ job }) => job);
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
    options: RemoteAppendOptions = {},
  ): Promise<AppendResult> {
    const headers = new Headers({ "content-type": CBOR_SEQUENCE });
    if (options.offset !== undefined) headers.set("tidemark-offset", String(options.offset));
    if (options.run !== undefined) headers.set("tidemark-run", String(options.run));
    const query = options.ack === undefined ? "" : `?ack=${options.ack}`;
    const path = `${jobPath(job)}/writers/${encodeURIComponent(writer)}/changes${query}`;
    const request = { method: "POST", headers, body: changes as Uint8Array<ArrayBuffer> };
    return await this.#json(path, request) as unknown as AppendResult;
  }

  /**
   * Writes a state object ahead of its checkpoint, which names it as `{ written: uuid }`.
   *
   * @param content The state, whole or piece by piece.
   */
  async writeState(job: string, name: string, content: StateContent): Promise<StateMetadata> {
    const path = `${jobPath(job)}/states/${encodeURIComponent(name)}`;
    const headers = { "content-type": BYTES };
    const body = content instanceof Uint8Array ? content : streamOf(content);
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    return await this.#json(path, init, "not-applied") as unknown as StateMetadata;
  }

  /**
   * Reads a state of a checkpoint.
   *
   * @returns Its content. The iteration ends only when all of it came, as the sidecar said it would be.
   */
  async *readState(job: string, name: string, at: At): AsyncGenerator<Uint8Array> {
    const path = `${checkpointPath(job, at)}/states/${encodeURIComponent(name)}`;
    const answer = await this.#send(path, {});
    const wanted = answer.headers.get("etag");
    const hash = new Xxh64();
    const reader = answer.body?.getReader();
    try {
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
        hash.update(part.value);
        yield part.value;
      }
    } catch (cause) {
      throw unreachable(this.url, `state ${name} of job ${job} was cut off`, "not-applied", cause);
    } finally {
      await reader?.cancel();
    }
    if (wanted === `"${formatHash(hash.digest())}"`) return;
    throw unreachable(this.url, `state ${name} of job ${job} did not come whole`, "not-applied");
  }

  /** Makes a checkpoint; the states that are given with their content are written before. */
  async checkpoint(job: string, options: CheckpointOptions = {}): Promise<CheckpointMetadata> {
    const { signal: _signal, onProgress: _onProgress, states: given, ...facts } = options;
    const body = given === undefined ? facts : { ...facts, states: await this.#name(job, given) };
    return checkpointOf(await this.#call("POST", `${jobPath(job)}/checkpoints`, "unknown", body));
  }

  /** Lists the checkpoints, oldest first. */
  async checkpoints(job: string): Promise<CheckpointMetadata[]> {
    const { checkpoints } = await this.#get(`${jobPath(job)}/checkpoints`);
    return (checkpoints as JsonObject[]).map((listed) => checkpointOf(listed));
  }

  /** Shows one checkpoint: `latest`, or by its uuid. */
  async checkpointDetails(job: string, at: At): Promise<CheckpointDetails> {
    return checkpointOf(await this.#get(checkpointPath(job, at)));
  }

  /** Keeps a checkpoint whatever retention says. */
  async pin(job: string, uuid: string, reason?: string): Promise<CheckpointMetadata> {
    const path = `${checkpointPath(job, uuid)}/pin`;
    return checkpointOf(await this.#call("PUT", path, "unknown", { reason }));
  }

  /** Leaves a checkpoint to retention again. */
  async unpin(job: string, uuid: string): Promise<CheckpointMetadata> {
    const path = `${checkpointPath(job, uuid)}/pin`;
    return checkpointOf(await this.#json(path, { method: "DELETE" }));
  }

  /** Removes the checkpoints that retention lets go, and the objects that nothing needs. */
  async collect(job: string, options: CollectionOptions = {}): Promise<CollectionReport> {
    const { except, dryRun, quarantineMs, signal } = options;
    const body = { dryRun, quarantineMs, ...(except === undefined ? {} : { except: [...except] }) };
    const answer = await this.#call("POST", `${jobPath(job)}/gc`, "unknown", body, signal);
    return answer as unknown as CollectionReport;
  }

  /** Says why an object, or a checkpoint, stays or goes. */
  async explain(
    job: string,
    key: string,
    options: Omit<CollectionOptions, "dryRun"> = {},
  ): Promise<ObjectExplanation> {
    const { except, quarantineMs } = options;
    const body = { key, quarantineMs, ...(except === undefined ? {} : { except: [...except] }) };
    const answer = await this.#call("POST", `${jobPath(job)}/explain`, "not-applied", body);
    return answer as unknown as ObjectExplanation;
  }

  /** Deletes one checkpoint, and what it alone needed. */
  async deleteCheckpoint(job: string, uuid: string): Promise<CollectionReport> {
    const answer = await this.#json(checkpointPath(job, uuid), { method: "DELETE" });
    return answer as unknown as CollectionReport;
  }

  /** Ends a writer where it stands, with the next published checkpoint. */
  async retireWriter(job: string, writer: string): Promise<WriterPosition> {
    const path = `${jobPath(job)}/writers/${encodeURIComponent(writer)}/retire`;
    return await this.#json(path, { method: "POST" }) as unknown as WriterPosition;
  }

  /** Counts the room that the job takes. */
  async usage(job: string): Promise<JobUsage> {
    return await this.#get(`${jobPath(job)}/usage`) as unknown as JobUsage;
  }

  /** Reads what the job needs and answers what is bad. */
  async verify(job: string, options: VerifyOptions = {}): Promise<VerifyReport> {
    const { signal, level } = options;
    const body = { level };
    const path = `${jobPath(job)}/verify`;
    const answer = await this.#call("POST", path, "not-applied", body, signal);
    return answer as unknown as VerifyReport;
  }

  /** Brings back a job that can't be opened: says what is lost, and does it when that plan is accepted. */
  async salvage(
    job: string,
    options: Omit<SalvageOptions, "takeOver"> = {},
  ): Promise<SalvageReport> {
    const { signal, ...body } = options;
    const path = `${jobPath(job)}/salvage`;
    const isLook = body.accept === undefined || body.dryRun === true;
    const answer = await this.#call("POST", path, isLook ? "not-applied" : "unknown", body, signal);
    return answer as unknown as SalvageReport;
  }

  /** Rewinds the job to where its pipeline starts again. */
  async resume(job: string, options: ResumeOptions = {}): Promise<ResumeResult> {
    const answer = await this.#call("POST", `${jobPath(job)}/resume`, "unknown", { ...options });
    const { checkpoint, ...result } = answer;
    const isThere = checkpoint !== null && checkpoint !== undefined;
    return {
      ...result,
      ...(isThere ? { checkpoint: checkpointOf(checkpoint as JsonObject) } : {}),
    } as unknown as ResumeResult;
  }

  /** Reads the changes of one writer back. */
  async restore(
    job: string,
    writer: string,
    options: RemoteRestoreOptions = {},
  ): Promise<RemoteRestore> {
    const query = new URLSearchParams();
    if (options.at !== undefined) query.set("at", options.at);
    if (options.from !== undefined) query.set("from", String(options.from));
    if (options.keyGroups !== undefined) query.set("keyGroups", options.keyGroups.join("-"));
    if (options.fallback !== undefined) query.set("fallback", String(options.fallback));
    const path = `${jobPath(job)}/writers/${encodeURIComponent(writer)}/changes?${query}`;
    const answer = await this.#send(path, { headers: { accept: CBOR_SEQUENCE } });
    if (answer.body === null) throw unreachable(this.url, "the answer has no body", "not-applied");
    return readChangeStream(answer.body, `writer ${writer} of job ${job}`);
  }

  /** Names every state: one that is content is written for it. */
  async #name(
    job: string,
    states: NonNullable<CheckpointOptions["states"]>,
  ): Promise<Record<string, StateSource>> {
    const named: Record<string, StateSource> = {};
    for (const [name, source] of Object.entries(states)) {
      const isContent = source instanceof Uint8Array || Symbol.asyncIterator in source;
      named[name] = isContent
        ? { written: (await this.writeState(job, name, source)).uuid }
        : source;
    }
    return named;
  }

  async #call(
    method: string,
    path: string,
    lostOutcome: "not-applied" | "unknown",
    body: JsonObject,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    const headers = { "content-type": "application/json" };
    return await this.#json(path, { method, headers, body: toJson(body), signal }, lostOutcome);
  }

  async #get(path: string): Promise<JsonObject> {
    return await this.#json(path, {}, "not-applied");
  }

  async #json(
    path: string,
    init: RequestInit,
    lostOutcome: "not-applied" | "unknown" = "unknown",
  ): Promise<JsonObject> {
    const answer = await this.#send(path, init, lostOutcome);
    try {
      return parseJson(await answer.text());
    } catch (cause) {
      init.signal?.throwIfAborted();
      throw unreachable(this.url, "the answer can't be read", lostOutcome, cause);
    }
  }

  async #send(
    path: string,
    init: RequestInit,
    lostOutcome: "not-applied" | "unknown" = "not-applied",
  ): Promise<Response> {
    let answer: Response;
    try {
      answer = await this.#fetch(new Request(`${this.url}${path}`, init));
    } catch (cause) {
      init.signal?.throwIfAborted();
      throw unreachable(this.url, reasonOf(cause), lostOutcome, cause);
    }
    if (!answer.ok) throw await errorOfAnswer(this.url, answer, lostOutcome);
    return answer;
  }
}

/** What comes piece by piece, as a request's body. */
function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await iterator.next();
      if (piece.done) controller.close();
      else controller.enqueue(piece.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  }, { highWaterMark: 0 });
}

function jobPath(job: string): string {
  return `/v1/jobs/${encodeURIComponent(job)}`;
}

function checkpointPath(job: string, at: string): string {
  return `${jobPath(job)}/checkpoints/${encodeURIComponent(at)}`;
}

function describeJob(answer: JsonObject): JobDescription {
  return {
    ...answer,
    fingerprint: BigInt(String(answer.fingerprint)),
  } as unknown as JobDescription;
}

/** Answers from HTTP have u64 values as decimal strings. */
function checkpointOf<Found extends CheckpointMetadata>(answer: JsonObject): Found {
  const found: Record<string, unknown> = { ...answer };
  for (const name of ["fingerprint", "steps", "processedRecords"]) {
    if (typeof found[name] === "string") found[name] = BigInt(found[name]);
  }
  return found as unknown as Found;
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Node says only "fetch failed"; what happened is in the cause.
  const inner = cause.cause;
  return inner instanceof Error && inner.message !== "" ? inner.message : cause.message;
}

function checkUrl(url: string): string {
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new TypeError(`Cannot use ${url}: wants an address such as http://127.0.0.1:7460`);
  }
  return parsed.href.replace(/\/+$/, "");
}

/** Whether an error means that the same append may be sent again: nothing of it was taken. */
export function isNotTaken(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && error.retryable && error.outcome === "not-applied";
}
