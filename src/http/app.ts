/**
 * The HTTP app: routes over an open store.
 *
 * Owns: paths, headers, media types, the translation of errors.
 * Does not own: any rule of the engine, the socket (`src/runtime/http_server.ts`).
 * @module
 */
import { Hono, type MiddlewareHandler } from "hono";
import { MIB } from "../engine/limits.ts";
import type { Clock } from "../engine/port/clock.ts";
import { type Logger, SILENT_LOGGER } from "../engine/port/logger.ts";
import type { Store } from "../engine/types.ts";
import { accessLog, type Carried } from "./_access_log.ts";
import { BodyBudget } from "./_body.ts";
import { AMBIENT_CLOCK } from "./_ambient_clock.ts";
import { AnswerStreams } from "./_answer_streams.ts";
import { BodyWatch } from "./_body_watch.ts";
import { RequestCount } from "./_request_count.ts";
import { crossOrigin, Guard } from "./_guard.ts";
import { RouteRequest, type RouteServices, TakeOver } from "./_route_request.ts";
import { Router } from "./_router.ts";
import { ROUTES } from "./_routes.ts";
import type { Access } from "./access.ts";
import type { PrometheusMetrics } from "./metrics.ts";

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
  const { logger = SILENT_LOGGER, clock = AMBIENT_CLOCK } = options;
  const { access, corsOrigins = [], hostnames } = options;
  const bodyBytesMax = checkLimit("bodyBytesMax", options.bodyBytesMax ?? 64 * MIB);
  const inFlightMax = options.bodyBytesInFlightMax ?? 4 * bodyBytesMax;
  const startedMs = performance.now();
  const services: RouteServices = {
    store: engine,
    guard: new Guard({ access, corsOrigins, hostnames }),
    logger,
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
  const router = new Router(ROUTES);
  const ask = (request: Request): RouteRequest =>
    new RouteRequest(request, router.find(request), services);
  const before = [
    ...options.logRequests ? [accessLog(logger, clock)] : [],
    ...corsOrigins.length > 0 ? [crossOrigin(corsOrigins)] : [],
  ];
  return { fetch: before.length === 0 ? (request) => answer(ask(request)) : behind(before, ask) };
}

/** Answers a request; the head alone of what HEAD asks for. */
function answer(request: RouteRequest): Promise<Response> {
  const answered = request.place.answer(request);
  if (request.method !== "HEAD") return answered;
  return answered.then((whole) => new Response(null, whole));
}

/** What answers requests behind these. */
function behind(
  before: readonly MiddlewareHandler<Carried>[],
  ask: (request: Request) => RouteRequest,
): HttpApp["fetch"] {
  const app = new Hono<Carried>();
  app.use((context, next) => {
    context.set("asked", ask(context.req.raw));
    return next();
  });
  app.use(...before);
  app.all("*", (context) => answer(context.get("asked")));
  app.onError((thrown, context) => context.get("asked").refuse(thrown));
  return async (request) => await app.fetch(request);
}

let described: Promise<unknown> | undefined;

/** The routes as OpenAPI: made once, when somebody asks; to load what makes it would slow every start. */
function document(): Promise<unknown> {
  return described ??= import("./_openapi_document.ts")
    .then(({ describeRoutes }) => describeRoutes(ROUTES));
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
