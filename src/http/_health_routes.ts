/** Whether the process lives, whether it takes requests, how its store is, and what it counts. */
import { TidemarkError } from "../engine/errors.ts";
import { FORMAT_VERSION } from "../engine/limits.ts";
import type { Store } from "../engine/types.ts";
import { VERSION } from "../engine/version.ts";
import { type Answer, answer } from "./_answer.ts";
import { HEALTH, NOT_READY, READY, STORE } from "./_answers.ts";
import { EXPOSITION_MEDIA_TYPE } from "./_exposition.ts";
import { mediaTypeOf } from "./_negotiation.ts";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { asTidemarkError, RequestError } from "./problem.ts";

/** Routes for whoever watches the process. */
export const HEALTH_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/healthz",
    operationId: "healthz",
    tag: "watch",
    summary: "Says that the process lives",
    right: "none",
    request: {},
    responses: { 200: { description: "It lives", json: HEALTH } },
    errors: [],
    handle: () => answer({ status: "ok" }),
  }),
  route({
    method: "GET",
    path: "/readyz",
    operationId: "readyz",
    tag: "watch",
    summary: "Says whether requests are taken",
    description: "Looks whether the store is where it was, can be written and has room, and " +
      "whether the jobs that are open here are this owner's still. Writes at most every 10 s.",
    right: "none",
    request: {},
    responses: {
      200: { description: "It is ready", json: READY },
      503: {
        description: "It is not, and why",
        json: NOT_READY,
        headers: { "retry-after": "Seconds until it may be asked again" },
      },
    },
    errors: [],
    handle: readiness,
  }),
  route({
    method: "GET",
    path: "/metrics",
    operationId: "metrics",
    tag: "watch",
    summary: "What it counts, for Prometheus",
    right: "read",
    request: {},
    responses: {
      200: {
        description: "The metrics",
        content: {
          [mediaTypeOf(EXPOSITION_MEDIA_TYPE)]: { description: "Text exposition format 0.0.4" },
        },
      },
    },
    errors: [],
    handle: metrics,
  }),
  route({
    method: "GET",
    path: "/v1/store",
    operationId: "showStore",
    tag: "watch",
    summary: "Describes the store and the sidecar",
    right: "read",
    request: {},
    responses: { 200: { description: "The store", json: STORE } },
    errors: [],
    handle: showStore,
  }),
];

/** Something that keeps requests from being taken. */
interface NotReady {
  readonly what: "store" | "room" | "job";
  readonly job?: string;
  readonly code: string;
  readonly reason: string;
}

async function readiness(request: RouteRequest): Promise<Answer> {
  const { store, isDraining } = request.services;
  const retry = { "retry-after": "1" };
  if (isDraining()) return answer({ status: "closing" }, 503, retry);
  const found = await whatIsWrong(store);
  if (found.length === 0) return answer({ status: "ready", store: store.id });
  // Where the store lies, and which jobs it has, is for those alone who may read it.
  const mayRead = request.grant?.allows("read", undefined) ?? false;
  const problems = found.map(({ what, job, code, reason }) => (
    mayRead ? { what, job, code, reason } : { what, code }
  ));
  const [{ code, reason }] = found;
  return answer(
    {
      status: "unavailable",
      store: store.id,
      code,
      reason: mayRead ? reason : undefined,
      problems,
    },
    503,
    retry,
  );
}

async function whatIsWrong(store: Store): Promise<NotReady[]> {
  try {
    // Only reads; whether it can be written is looked for less often.
    await store.check();
    const { problem, isFull, jobs } = await store.status();
    return [
      ...problem === undefined ? [] : [{ what: "store", ...said(problem) } as const],
      ...isFull && problem === undefined ? [{ what: "room", ...said(full(store)) } as const] : [],
      ...jobs.flatMap(({ job, problem }) =>
        problem === undefined ? [] : [{ what: "job", job, ...said(problem) } as const]
      ),
    ];
  } catch (error) {
    return [{ what: "store", ...said(asTidemarkError(error)) }];
  }
}

function said({ code, message }: { readonly code: string; readonly message: string }) {
  return { code, reason: message };
}

function full({ location }: Store): TidemarkError {
  return new TidemarkError("storage-full", `Cannot write to store ${location}: it has no room`);
}

async function showStore(request: RouteRequest): Promise<Answer> {
  const { store, uptimeMs } = request.services;
  const { jobs, ...status } = await store.status();
  return answer({
    store: store.id,
    location: store.location,
    version: VERSION,
    formatVersion: FORMAT_VERSION,
    uptimeMs: uptimeMs(),
    jobs: (await store.jobs()).length,
    openJobs: jobs,
    ...status,
  });
}

function metrics(request: RouteRequest): Response {
  const { metrics } = request.services;
  if (metrics === undefined) {
    throw new RequestError(404, "Cannot answer metrics: this app was made without a registry");
  }
  const headers = { "content-type": EXPOSITION_MEDIA_TYPE, "cache-control": "no-store" };
  return new Response(metrics.render(), { headers });
}
