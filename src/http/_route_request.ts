/** A request on its way through a route, and what routes work with. */
import { TidemarkError } from "../engine/errors.ts";
import type { Logger } from "../engine/port/logger.ts";
import type { Job, JobOptions, Store } from "../engine/types.ts";
import type { AnswerStreams } from "./_answer_streams.ts";
import type { BodyWatch } from "./_body_watch.ts";
import { type BodyBudget, type HeldBody, readBody, streamBody } from "./_body.ts";
import { decompressed } from "./_gzip.ts";
import type { Guard } from "./_guard.ts";
import { problemFor } from "./_problem_for.ts";
import { report } from "./_report.ts";
import type { RequestCount } from "./_request_count.ts";
import type { Grant } from "./access.ts";
import { asTidemarkError, type Problem, problemResponse } from "./problem.ts";
import type { PrometheusMetrics } from "./metrics.ts";

/** What the app gives to its routes. */
export interface RouteServices {
  readonly store: Store;
  readonly guard: Guard;
  readonly logger: Logger;
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

/** What a path asks for, with a method. */
export interface Place {
  /** The path, as the router reads it. */
  readonly path: string;
  /** The path that a route declares for it; undefined where none does. */
  readonly pattern: string | undefined;
  /** Names in the path, decoded. */
  readonly names: Readonly<Record<string, string>>;
  /** What the route makes of them once they are checked: kept as long as the place is. */
  checkedNames?: Readonly<Record<string, unknown>>;
  /** Answers a request; never rejects. */
  readonly answer: (request: RouteRequest) => Promise<Response>;
}

/** A request on its way through a route. */
export class RouteRequest {
  /** What whoever asks may do; undefined where that is not known, or not yet. */
  grant: Grant | undefined;
  /** What it was refused with. */
  failure: TidemarkError | undefined;

  constructor(
    readonly raw: Request,
    readonly place: Place,
    readonly services: RouteServices,
  ) {}

  get store(): Store {
    return this.services.store;
  }

  get method(): string {
    return this.raw.method;
  }

  get url(): string {
    return this.raw.url;
  }

  get headers(): Headers {
    return this.raw.headers;
  }

  /** Set off when the client goes away. */
  get signal(): AbortSignal {
    return this.raw.signal;
  }

  /** A part of the path, decoded. */
  param(name: string): string {
    return this.place.names[name] ?? "";
  }

  /** Answers with an error, whatever was thrown; whoever asks learns no more than they may know. */
  refuse(thrown: unknown): Response {
    const error = asTidemarkError(thrown);
    this.failure = error;
    const { path, checkedNames } = this.place;
    report(this.services.logger, error, { ...checkedNames, method: this.method, path });
    return problemResponse(error, this.tell(error));
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
    return this.headers.get("content-encoding") === null
      ? this.#read(this.raw, most)
      : this.#readDecompressed(this.raw, most);
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
    const plain = decompressed(this.raw);
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
