/** Whether the process lives, whether it takes requests, and what it counts. */
import { HEALTH, NOT_READY, READY } from "./_answers.ts";
import { EXPOSITION_MEDIA_TYPE } from "./_exposition.ts";
import { mediaTypeOf } from "./_negotiation.ts";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { type Answer, answer } from "./_answer.ts";
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
];

async function readiness(request: RouteRequest): Promise<Answer> {
  const { store, isDraining } = request.services;
  const retry = { "retry-after": "1" };
  if (isDraining()) return answer({ status: "closing" }, 503, retry);
  try {
    await store.check();
  } catch (error) {
    const { code, message } = asTidemarkError(error);
    // Where the store lies is for those alone who may read it.
    const reason = request.grant?.allows("read", undefined) ? message : undefined;
    return answer({ status: "unavailable", store: store.id, code, reason }, 503, retry);
  }
  return answer({ status: "ready", store: store.id });
}

function metrics(request: RouteRequest): Response {
  const { metrics } = request.services;
  if (metrics === undefined) {
    throw new RequestError(404, "Cannot answer metrics: this app was made without a registry");
  }
  const headers = { "content-type": EXPOSITION_MEDIA_TYPE, "cache-control": "no-store" };
  return new Response(metrics.render(), { headers });
}
