/** A request on its way through a route, and what routes work with. */
import type { Context } from "hono";
import { TidemarkError } from "../engine/errors.ts";
import type { Job, JobOptions, Store } from "../engine/types.ts";
import type { AnswerStreams } from "./_answer_streams.ts";
import type { BodyWatch } from "./_body_watch.ts";
import { type BodyBudget, type HeldBody, readBody, streamBody } from "./_body.ts";
import { problemFor } from "./_problem_for.ts";
import type { RequestCount } from "./_request_count.ts";
import type { Grant } from "./access.ts";
import type { Problem } from "./problem.ts";
import { decompressed } from "./_gzip.ts";
import type { PrometheusMetrics } from "./metrics.ts";

/** What the app gives to its routes. */
export interface RouteServices {
  readonly store: Store;
  readonly toTakeOver: TakeOver;
  readonly bodyBytesMax: number;
  readonly bodyBudget: BodyBudget;
  readonly bodyWatch: BodyWatch;
  readonly answerStreams: AnswerStreams;
  readonly requests: RequestCount;
  readonly isDraining: () => boolean;
  readonly metrics: PrometheusMetrics | undefined;
  /** How long the app has been there. */
  readonly uptimeMs: () => number;
  /** Describes the routes as OpenAPI. */
  readonly document: () => Promise<unknown>;
}

/** Takes each job over once: whoever takes it from this process later is not robbed in turn. */
export class TakeOver {
  readonly #isWanted: boolean;
  readonly #done = new Set<string>();

  constructor(isWanted: boolean) {
    this.#isWanted = isWanted;
  }

  isWanted(job: string): boolean {
    return this.#isWanted && !this.#done.has(job);
  }

  done(job: string): void {
    if (this.#isWanted) this.#done.add(job);
  }
}

/** The refusal of a request while the sidecar closes. */
export function closing(): TidemarkError {
  return new TidemarkError(
    "closed",
    "Cannot take the request: the sidecar is closing; nothing was changed, " +
      "try again when it is back",
  );
}

/** A request on its way through a route. */
export class RouteRequest {
  readonly #context: Context;

  /** @param grant What whoever asks may do; undefined where that is not known, and plays no part. */
  constructor(
    context: Context,
    readonly services: RouteServices,
    readonly grant: Grant | undefined,
  ) {
    this.#context = context;
  }

  get store(): Store {
    return this.services.store;
  }

  get method(): string {
    return this.#context.req.raw.method;
  }

  get url(): string {
    return this.#context.req.raw.url;
  }

  /** The path of its URL, as the router reads it: what a route takes from it depends on nothing else. */
  get path(): string {
    return this.#context.req.path;
  }

  get headers(): Headers {
    return this.#context.req.raw.headers;
  }

  /** Set off when the client goes away. */
  get signal(): AbortSignal {
    return this.#context.req.raw.signal;
  }

  /** A part of the path, decoded. */
  param(name: string): string {
    return this.#context.req.param(name) ?? "";
  }

  /** It ends with an error: who is told of it learns no more than it may know. */
  failed(): void {
    this.#context.set("grant", this.grant);
  }

  /** What an error says to who asks. */
  tell(error: TidemarkError): Problem {
    return problemFor(error, { grant: this.grant, place: this.store.location });
  }

  /** The job that the path names; by default it must exist. */
  job(options: JobOptions = {}): Promise<Job> {
    const { toTakeOver } = this.services;
    const id = this.param("job");
    const job = this.store.job(id, {
      takeOver: toTakeOver.isWanted(id),
      create: false,
      ...options,
    });
    return toTakeOver.isWanted(id) ? job.then((taken) => (toTakeOver.done(id), taken)) : job;
  }

  /** The body whole, decompressed; its memory counts until it is released. */
  body(bytesMax = this.services.bodyBytesMax): Promise<HeldBody> {
    const most = Math.min(bytesMax, this.services.bodyBytesMax);
    const { raw } = this.#context.req;
    return raw.headers.get("content-encoding") === null
      ? this.#read(raw, most)
      : this.#readDecompressed(raw, most);
  }

  #read(request: Request, bytesMax: number): Promise<HeldBody> {
    const { bodyBudget, bodyWatch } = this.services;
    return readBody(request, bytesMax, bodyBudget, bodyWatch);
  }

  async #readDecompressed(request: Request, bytesMax: number): Promise<HeldBody> {
    const plain = decompressed(request);
    try {
      return await this.#read(plain.request, bytesMax);
    } finally {
      plain.end();
    }
  }

  /** The body piece by piece, decompressed, of any length. */
  stream(): AsyncGenerator<Uint8Array> {
    const plain = decompressed(this.#context.req.raw);
    return endingWith(plain.end, streamBody(plain.request, this.services.bodyWatch));
  }
}

async function* endingWith(
  end: () => void,
  pieces: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
  } finally {
    end();
  }
}
