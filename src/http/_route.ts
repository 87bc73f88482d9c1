/** What every route works with. */
import type { Context } from "hono";
import type * as v from "valibot";
import type { Job, JobOptions, Store } from "../engine/types.ts";
import { type BodyBudget, type HeldBody, readBody, streamBody } from "./_body.ts";
import { check } from "./_requests.ts";
import type { PrometheusMetrics } from "./metrics.ts";
import { RequestError } from "./problem.ts";

/** Largest JSON body; user metadata of a checkpoint is at most 64 KiB. */
const JSON_BYTES_MAX = 1024 * 1024;

/** One route: a method and a path, answered by a handler. */
export interface Route {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly handle: (request: RouteRequest) => Promise<Response> | Response;
}

/** What the app gives to its routes. */
export interface RouteServices {
  readonly store: Store;
  readonly toTakeOver: TakeOver;
  readonly bodyBytesMax: number;
  readonly bodyBudget: BodyBudget;
  readonly isDraining: () => boolean;
  readonly metrics: PrometheusMetrics | undefined;
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

/** A request on its way through a route. */
export class RouteRequest {
  readonly #context: Context;

  constructor(context: Context, readonly services: RouteServices) {
    this.#context = context;
  }

  get store(): Store {
    return this.services.store;
  }

  get method(): string {
    return this.#context.req.raw.method;
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

  /** The job that the path names; by default it must exist. */
  async job(options: JobOptions = {}): Promise<Job> {
    const { toTakeOver } = this.services;
    const id = this.param("job");
    const takeOver = toTakeOver.isWanted(id);
    const job = await this.store.job(id, { takeOver, create: false, ...options });
    toTakeOver.done(id);
    return job;
  }

  query<Schema extends v.GenericSchema>(schema: Schema): v.InferOutput<Schema> {
    const values: Record<string, string> = {};
    for (const [name, texts] of Object.entries(this.#context.req.queries())) {
      if (texts.length > 1) {
        throw new RequestError(
          400,
          `Cannot read the query: ${name} is there ${texts.length} times`,
        );
      }
      values[name] = texts[0];
    }
    return check(schema, "query", values);
  }

  /** The body whole; its memory counts until it is released. */
  body(): Promise<HeldBody> {
    const { bodyBytesMax, bodyBudget } = this.services;
    return readBody(this.#context.req.raw, bodyBytesMax, bodyBudget);
  }

  /** The body piece by piece, of any length. */
  stream(): AsyncGenerator<Uint8Array> {
    return streamBody(this.#context.req.raw);
  }

  /** The JSON object in the body; an empty body is an empty object. */
  async json<Schema extends v.GenericSchema>(schema: Schema): Promise<v.InferOutput<Schema>> {
    const { bodyBytesMax, bodyBudget } = this.services;
    const bytesMax = Math.min(JSON_BYTES_MAX, bodyBytesMax);
    const body = await readBody(this.#context.req.raw, bytesMax, bodyBudget);
    try {
      if (body.bytes.length === 0) return check(schema, "body", {});
      const type = mediaType(this.headers);
      if (type !== "application/json") throw unsupportedMediaType(type, ["application/json"]);
      return check(schema, "body", parseObject(body.bytes));
    } finally {
      body.release();
    }
  }
}

/** The media type of a request's body, without parameters, in lower case. */
export function mediaType(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
}

/** The refusal of a media type. */
export function unsupportedMediaType(found: string, wanted: readonly string[]): RequestError {
  return new RequestError(
    415,
    `Cannot read a body of type ${found === "" ? "unknown" : found}: ` +
      `send content-type ${wanted.join(" or ")}`,
    { found, wanted },
    { "accept": wanted.join(", ") },
  );
}

function parseObject(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RequestError(400, `Cannot read the body as JSON: ${reason}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(400, "Cannot read the body: wants a JSON object");
  }
  return value;
}
