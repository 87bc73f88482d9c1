/**
 * The HTTP app: routes over an open store.
 *
 * Owns: paths, headers, media types, the translation of errors.
 * Does not own: any rule of the engine, the socket (`src/runtime/http_server.ts`).
 * @module
 */
import { type Context, Hono } from "hono";
import type { TidemarkError } from "../engine/errors.ts";
import { MIB } from "../engine/limits.ts";
import type { Clock } from "../engine/port/clock.ts";
import { type Logger, SILENT_LOGGER } from "../engine/port/logger.ts";
import type { Store } from "../engine/types.ts";
import { accessLog } from "./_access_log.ts";
import { BodyBudget } from "./_body.ts";
import { AMBIENT_CLOCK } from "./_ambient_clock.ts";
import { AnswerStreams } from "./_answer_streams.ts";
import { BodyWatch } from "./_body_watch.ts";
import { problemFor } from "./_problem_for.ts";
import { RequestCount } from "./_request_count.ts";
import { crossOrigin, Guard } from "./_guard.ts";
import { RouteRequest, type RouteServices, TakeOver } from "./_route_request.ts";
import { ROUTES } from "./_routes.ts";
import type { Access, Grant } from "./access.ts";
import type { PrometheusMetrics } from "./metrics.ts";
import { asTidemarkError, problemResponse, RequestError } from "./problem.ts";

/**
 * Something that answers requests; fits `Deno.serve`, `Bun.serve` and `@hono/node-server`.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { createApp, type HttpApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:");
 * const app: HttpApp = createApp(store);
 * const answer = await app.fetch(new Request("http://127.0.0.1:7460/v1/jobs/none"));
 * console.assert(answer.status === 404);
 * console.assert((await answer.json()).code === "job-not-found");
 * ```
 */
export interface HttpApp {
  /**
   * Answers one request. Never rejects: every error is an answer.
   *
   * @param request Of any method and path.
   * @returns The answer; errors as `application/problem+json` (RFC 9457).
   */
  fetch(request: Request): Promise<Response>;
}

/**
 * Options of {@link createApp}.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { createApp, type HttpAppOptions, PrometheusMetrics } from "@tidemark/tidemark/http";
 *
 * const metrics = new PrometheusMetrics();
 * const options: HttpAppOptions = { bodyBytesMax: 8 * 1024 * 1024, metrics };
 * await using store = await openStore("memory:", { metrics });
 * const app = createApp(store, options);
 * console.assert((await app.fetch(new Request("http://127.0.0.1:7460/metrics"))).ok);
 * ```
 */
export interface HttpAppOptions {
  /** Largest request body in bytes. @default 64 MiB */
  bodyBytesMax?: number;
  /** Bytes of request bodies in memory at a time, over all requests. @default 4 x bodyBytesMax */
  bodyBytesInFlightMax?: number;
  /** Whether jobs are taken from live owners on this machine, each once. @default false */
  takeOver?: boolean;
  /** Whether the process is about to end: requests are then refused with 503. @default never */
  isDraining?: () => boolean;
  /** Told of every error that is not the client's. @default silent */
  logger?: Logger;
  /** Whether the logger is told of every request, too, once its answer has left. @default false */
  logRequests?: boolean;
  /** Whose requests are taken; each route wants a right of its own. @default everyone's */
  access?: Access;
  /** Origins whose pages may ask, such as `https://console.example`. @default only its own */
  corsOrigins?: readonly string[];
  /**
   * Names that a request's `Host` may have besides those of loopback, where the app listens there and
   * asks for no token: pages of other sites can lead a name of theirs to it. @default any
   */
  hostnames?: readonly string[];
  /** What `GET /metrics` answers; the store is to count there too. @default there is no such path */
  metrics?: PrometheusMetrics;
  /** Requests that are answered at a time, those aside that say that it lives. @default 1024 */
  requestsMax?: number;
  /** Restores, and reads of states, at a time; each takes some 10 MiB of memory. @default 32 */
  streamsMax?: number;
  /**
   * Time in ms in which a request's body must go on, by 1 KiB a second at least, or end; 0: any time.
   * @default 30000
   */
  bodyIdleMsMax?: number;
  /** Time in ms that the reader of a restore, or of a state, may take nothing; 0: any. @default 300000 */
  streamIdleMsMax?: number;
  /** Measures those times. @default the machine's */
  clock?: Clock;
}

/**
 * Makes the HTTP app of an open store. Jobs are opened when a request names them.
 * The paths, bodies and errors are described in `docs/HTTP.md`.
 *
 * @param engine The store; the app doesn't close it.
 * @param options Limits, logger, metrics. @default {}
 * @returns An app that answers requests, whoever receives them.
 * @throws {RangeError} A limit is no positive whole number.
 *
 * @example
 * ```ts
 * import { openStore } from "@tidemark/tidemark";
 * import { createApp } from "@tidemark/tidemark/http";
 *
 * await using store = await openStore("memory:");
 * const { fetch } = createApp(store); // for Deno.serve({ hostname: "127.0.0.1", port: 7460 }, fetch)
 * const changes = "http://127.0.0.1:7460/v1/jobs/orders/writers/totals/changes";
 * await store.job("orders");
 * const answer = await fetch(
 *   new Request(changes, {
 *     method: "POST",
 *     headers: { "content-type": "application/x-ndjson" },
 *     body: '{"keyGroup":1,"data":"apples +3"}\n',
 *   }),
 * );
 * console.assert((await answer.json()).nextOffset === 1);
 * ```
 */
export function createApp(engine: Store, options: HttpAppOptions = {}): HttpApp {
  const logger = options.logger ?? SILENT_LOGGER;
  const { clock = AMBIENT_CLOCK } = options;
  const bodyBytesMax = checkLimit("bodyBytesMax", options.bodyBytesMax ?? 64 * MIB);
  const inFlightMax = options.bodyBytesInFlightMax ?? 4 * bodyBytesMax;
  const startedMs = performance.now();
  const services: RouteServices = {
    store: engine,
    toTakeOver: new TakeOver(options.takeOver ?? false),
    bodyBytesMax,
    bodyBudget: new BodyBudget(checkLimit("bodyBytesInFlightMax", inFlightMax)),
    bodyWatch: new BodyWatch(clock, checkTime("bodyIdleMsMax", options.bodyIdleMsMax ?? 30_000)),
    answerStreams: new AnswerStreams(clock, {
      streamsMax: checkLimit("streamsMax", options.streamsMax ?? 32),
      idleMsMax: checkTime("streamIdleMsMax", options.streamIdleMsMax ?? 300_000),
    }),
    requests: new RequestCount(checkLimit("requestsMax", options.requestsMax ?? 1024)),
    isDraining: options.isDraining ?? (() => false),
    metrics: options.metrics,
    uptimeMs: () => Math.floor(performance.now() - startedMs),
    document,
  };
  const { access, corsOrigins = [], hostnames } = options;
  const guard = new Guard({ access, corsOrigins, hostnames });
  const app: App = new Hono();
  if (options.logRequests) app.use(accessLog(logger, clock));
  if (corsOrigins.length > 0) app.use(crossOrigin(corsOrigins));
  addRoutes(app, services, guard);
  const refuseUnknown = (context: Context): never => {
    guard.admitAny(context.req.raw);
    const { method, path } = context.req;
    // Not routes of their own: with a second one for a path, each request would go through a chain of them.
    const allowed = allowedAt(path);
    throw allowed.length === 0 ? unknownPath(path) : methodNotAllowed(method, allowed);
  };
  app.notFound(refuseUnknown);
  // As routes of its own it answers within what logs it, by the path's name.
  const named = options.logRequests ? [...ROUTES.map((route) => route.path), "*"] : [];
  for (const path of new Set(named)) app.all(path, refuseUnknown);
  app.onError((thrown, context) => {
    const error = asTidemarkError(thrown);
    const { method, path } = context.req;
    report(logger, error, { method, path });
    const grant = context.get("grant");
    return problemResponse(error, problemFor(error, { grant, place: engine.location }));
  });
  return { fetch: (request) => Promise.resolve(app.fetch(request)) };
}

let described: Promise<unknown> | undefined;

/** The routes as OpenAPI: made once, when somebody asks; to load what makes it would slow every start. */
function document(): Promise<unknown> {
  return described ??= import("./_openapi_document.ts")
    .then(({ describeRoutes }) => describeRoutes(ROUTES));
}

/** What a request carries on its way: who asks, once that is known. */
type App = Hono<{ Variables: { grant?: Grant } }>;

function addRoutes(app: App, services: RouteServices, guard: Guard): void {
  for (const { method, path, right, answer } of ROUTES) {
    const admit = guard.of(path, right);
    app.on(method, path, (context) => {
      const grant = admit(context.req.raw.headers, context.req);
      return answer(new RouteRequest(context, services, grant));
    });
  }
}

/** What a path takes, of which no route takes the method. */
function allowedAt(path: string): readonly string[] {
  return ROUTES.filter((route) => patternOf(route.path).test(path)).map(({ method }) => method);
}

/** As the router reads it. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replace(/:[a-z]+/gi, "[^/]+")}$`);
}

function report(logger: Logger, error: TidemarkError, request: Record<string, string>): void {
  const isOurs = error.kind === "internal" || error.kind === "corrupt";
  // Who gave up, or went away, knows.
  if (error.code === "aborted") return;
  if (!isOurs && error.kind !== "unavailable" && error.kind !== "storage-full") return;
  logger.log(isOurs ? "error" : "warning", "request failed", {
    ...request,
    code: error.code,
    outcome: error.outcome,
    reason: error.message,
    cause: error.cause,
  });
}

function unknownPath(path: string): RequestError {
  return new RequestError(
    404,
    `Cannot find ${path}: there is no such path; GET /docs shows which there are, as a page, ` +
      `and /openapi.json for programs`,
  );
}

function methodNotAllowed(method: string, allowed: readonly string[]): RequestError {
  return new RequestError(
    405,
    `Cannot ${method} this path: it takes ${allowed.join(", ")}`,
    { method, allowed },
    { allow: allowed.join(", ") },
  );
}

function checkTime(name: string, value: number): number {
  return value === 0 ? 0 : checkLimit(name, value);
}

function checkLimit(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(
    `Cannot make the HTTP app: ${name} is ${value}, wants a positive whole number`,
  );
}
