/** Whether the process lives, whether it takes requests, and what it counts. */
import { EXPOSITION_MEDIA_TYPE } from "./_exposition.ts";
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";
import { asTidemarkError, RequestError } from "./problem.ts";

/** Routes for whoever watches the process. */
export const HEALTH_ROUTES: readonly Route[] = [
  { method: "GET", path: "/healthz", handle: () => jsonResponse({ status: "ok" }) },
  { method: "GET", path: "/readyz", handle: readiness },
  { method: "GET", path: "/metrics", handle: metrics },
];

async function readiness(request: RouteRequest): Promise<Response> {
  const { store, isDraining } = request.services;
  const retry = { "retry-after": "1" };
  if (isDraining()) return jsonResponse({ status: "closing" }, 503, retry);
  try {
    await store.check();
  } catch (error) {
    const { code, message: reason } = asTidemarkError(error);
    return jsonResponse({ status: "unavailable", store: store.id, code, reason }, 503, retry);
  }
  return jsonResponse({ status: "ready", store: store.id });
}

function metrics(request: RouteRequest): Response {
  const { metrics } = request.services;
  if (metrics === undefined) {
    throw new RequestError(404, "Cannot answer metrics: this app was made without a registry");
  }
  const headers = { "content-type": EXPOSITION_MEDIA_TYPE, "cache-control": "no-store" };
  return new Response(metrics.render(), { headers });
}
