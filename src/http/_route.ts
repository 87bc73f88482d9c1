/**
 * A route is a declaration: what it takes, what it answers, who may ask. Requests are checked against it here, in one
 * place, and `/openapi.json` is made from it.
 */
import * as v from "valibot";
import { type ErrorCode, TidemarkError } from "../engine/errors.ts";
import { type Answer, writeAnswer } from "./_answer.ts";
import { BrokenBody } from "./_body.ts";
import type { Demand } from "./_guard.ts";
import { chooseMediaType, mediaTypeOf } from "./_negotiation.ts";
import { check, readJsonBody, readQuery, unsupportedMediaType } from "./_request_checks.ts";
import { closing, type RouteRequest } from "./_route_request.ts";
import { CBOR, JSON_TYPE } from "./media_types.ts";
import { RequestError } from "./problem.ts";

/** Who may ask. */
export type Right = "none" | "read" | "append" | "admin";

/** Named parts of a request, each with what it may be. */
export type Entries = v.ObjectEntries;

/** A body of some media type; the route reads it, whole or as it comes. */
export interface MediaType {
  readonly description: string;
  /** Of a body that is JSON, or that says the same. @default what it holds is no matter of JSON Schema */
  readonly schema?: v.GenericSchema;
}

/** What a body may be: JSON, which is read and checked before the route sees it, or other media types. */
export type BodyDeclaration =
  | { readonly json: v.GenericSchema; readonly content?: undefined }
  | { readonly json?: undefined; readonly content: Readonly<Record<string, MediaType>> };

/** What a request may say. What is not declared is refused, but for headers. */
export interface RequestDeclaration<
  Path extends Entries = Entries,
  Query extends Entries = Entries,
  Head extends Entries = Entries,
  Body extends BodyDeclaration | undefined = BodyDeclaration | undefined,
> {
  readonly path?: Path;
  readonly query?: Query;
  readonly headers?: Head;
  readonly body?: Body;
}

/** An answer that is no error. */
export interface ResponseDeclaration {
  readonly description: string;
  /** Of a JSON body; the client may have it as CBOR. */
  readonly json?: v.GenericSchema;
  /** Of any other body. */
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a route gets of a request, checked. */
export interface RouteInput<
  Path extends Entries,
  Query extends Entries,
  Head extends Entries,
  Body extends BodyDeclaration | undefined,
> {
  readonly path: v.InferOutput<v.StrictObjectSchema<Path, undefined>>;
  readonly query: v.InferOutput<v.StrictObjectSchema<Query, undefined>>;
  readonly headers: v.InferOutput<v.StrictObjectSchema<Head, undefined>>;
  /** The JSON body. */
  readonly body: Body extends { readonly json: infer Schema extends v.GenericSchema }
    ? v.InferOutput<Schema>
    : undefined;
  /** Media type of the request's body: one of those that are declared. */
  readonly type: string;
  /** Media type that the client wants: one of those that are declared. */
  readonly accepted: string;
}

/** What a route gets, before its kinds are told from its declaration. */
type CheckedRequest = Record<"path" | "query" | "headers" | "body", unknown> & {
  readonly type: string;
  readonly accepted: string;
};

interface RouteFacts {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly right: Right;
  /** By status. */
  readonly responses: Readonly<Record<number, ResponseDeclaration>>;
  /** Codes that it fails with, besides those that any route may. */
  readonly errors: readonly ErrorCode[];
}

/** One route: a method and a path, what it takes, what it answers. */
export interface Route extends RouteFacts {
  readonly request: RequestDeclaration;
  /** Checks the request, and answers it, with an error if need be: never rejects. */
  readonly answer: (request: RouteRequest) => Promise<Response>;
}

/** Makes a route of its declaration. */
export function route<
  // deno-lint-ignore ban-types -- nothing is declared
  Path extends Entries = {},
  // deno-lint-ignore ban-types -- nothing is declared
  Query extends Entries = {},
  // deno-lint-ignore ban-types -- nothing is declared
  Head extends Entries = {},
  Body extends BodyDeclaration | undefined = undefined,
>(
  declared: RouteFacts & {
    readonly request: RequestDeclaration<Path, Query, Head, Body>;
    readonly handle: (
      request: RouteRequest,
      input: RouteInput<Path, Query, Head, Body>,
    ) => Promise<Answer | Response> | Answer | Response;
  },
): Route {
  const { handle, ...facts } = declared;
  const checks = new Checks(facts);
  const json = facts.request.body?.json;
  const endsWithSidecar = facts.path.startsWith("/v1/");
  const isCacheable = facts.method === "GET";
  const demand = demandOf(facts);
  return {
    ...facts,
    // One asynchronous function around the handler: each takes a frame, and small appends feel every one.
    async answer(request) {
      const { guard, isDraining, requests } = request.services;
      // Those that say that it lives are answered however many others there are.
      const count = facts.right === "none" ? undefined : requests;
      let isCounted = false;
      // By itself: what an `Access` of one's own throws is no error of the handler's.
      try {
        request.grant = guard.admit(request.raw, demand, request.param("job"));
      } catch (error) {
        return request.refuse(error);
      }
      try {
        if (endsWithSidecar && isDraining()) throw closing();
        count?.enter();
        isCounted = true;
        const checked = checks.run(request);
        if (json !== undefined) checked.body = await readJsonBody(request, checked.type, json);
        const answered = await handle(request, checked as RouteInput<Path, Query, Head, Body>);
        if (!(answered instanceof Response)) {
          return writeAnswer(answered, { mediaType: checked.accepted, isCacheable });
        }
        // Nobody reads the body of a HEAD: what it holds is let go at once.
        if (request.method === "HEAD") await answered.body?.cancel();
        return answered;
      } catch (error) {
        return request.refuse(translated(error, request, facts.operationId));
      } finally {
        if (isCounted) count?.leave();
      }
    },
  };
}

function demandOf({ right, path }: Pick<Route, "right" | "path">): Demand {
  if (path.includes("/:job")) return { right, on: "job" };
  return { right, on: path === "/v1/jobs" ? "own-jobs" : "store" };
}

/** An error of a handler, as one that can be answered. */
function translated(error: unknown, request: RouteRequest, operationId: string): unknown {
  // Who ends takes the bodies' connections away.
  if (error instanceof BrokenBody && request.services.isDraining()) return closing();
  if (error instanceof TidemarkError) return error;
  // What the engine says of an argument: its messages begin so, those of a runtime don't.
  if (error instanceof RangeError && error.message.startsWith("Cannot ")) {
    return new RequestError(400, error.message);
  }
  if (!request.signal.aborted) return error;
  return new TidemarkError("aborted", `Cannot finish ${operationId}: the client has gone away`, {
    outcome: "unknown",
    cause: error,
  });
}

/** What a declaration demands of a request, made ready once. */
class Checks {
  readonly #path: v.GenericSchema<unknown, Record<string, unknown>>;
  readonly #query: v.GenericSchema;
  readonly #headers: v.GenericSchema;
  /** What a query that says nothing comes to. */
  #noQuery: unknown;
  readonly #headerNames: readonly string[];
  readonly #types: readonly string[];
  readonly #produces: readonly string[];

  constructor({ request, responses }: Pick<Route, "request" | "responses">) {
    const { path = {}, query = {}, headers = {}, body } = request;
    this.#path = v.strictObject(path);
    this.#query = v.strictObject(query);
    this.#headers = v.object(headers);
    this.#headerNames = Object.keys(headers);
    this.#types = Object.keys(body?.content ?? {});
    this.#produces = producedTypes(responses);
  }

  /** Checks all but the body. */
  run(request: RouteRequest): CheckedRequest {
    const given = request.headers;
    const path = this.#checkPath(request);
    const query = this.#checkQuery(request.url);
    const headers = this.#headerNames.length === 0 ? {} : check(
      this.#headers,
      "headers",
      pick(this.#headerNames, (name) => given.get(name) ?? undefined),
    );
    const accepted = this.#accepted(given.get("accept"));
    const type = this.#typeOf(given.get("content-type"));
    return { path, query, headers, type, accepted, body: undefined };
  }

  #checkPath({ place }: RouteRequest): unknown {
    return place.checkedNames ??= Object.freeze(check(this.#path, "path", place.names));
  }

  #checkQuery(url: string): unknown {
    const query = readQuery(url);
    if (query !== undefined) return check(this.#query, "query", query);
    return this.#noQuery ??= Object.freeze(check(this.#query, "query", {}));
  }

  #typeOf(contentType: string | null): string {
    if (contentType !== null && this.#types.includes(contentType)) return contentType;
    const type = mediaTypeOf(contentType);
    if (this.#types.length > 0 && !this.#types.includes(type)) {
      throw unsupportedMediaType(type, this.#types);
    }
    return type;
  }

  #accepted(accept: string | null): string {
    const accepted = chooseMediaType(accept, this.#produces);
    if (accepted !== undefined) return accepted;
    throw new RequestError(
      406,
      `Cannot answer in ${accept}: accept ${this.#produces.join(" or ")}`,
      { wanted: accept, available: this.#produces },
    );
  }
}

/** Media types that a route answers in, the usual one first. */
export function producedTypes(responses: Route["responses"]): readonly string[] {
  const types = Object.values(responses).flatMap(({ json, content = {} }) => [
    ...(json === undefined ? [] : [JSON_TYPE, CBOR]),
    ...Object.keys(content),
  ]);
  return [...new Set(types)];
}

function pick(
  names: readonly string[],
  read: (name: string) => string | undefined,
): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {};
  for (const name of names) values[name] = read(name);
  return values;
}
