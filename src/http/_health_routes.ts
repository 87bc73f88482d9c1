/** Whether the process lives, and whether it takes requests. */
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";

/** Routes for whoever watches the process. */
export const HEALTH_ROUTES: readonly Route[] = [
  { method: "GET", path: "/healthz", handle: () => jsonResponse({ status: "ok" }) },
  { method: "GET", path: "/readyz", handle: readiness },
];

function readiness(request: RouteRequest): Response {
  const { store, isDraining } = request.services;
  if (isDraining()) return jsonResponse({ status: "closing" }, 503, { "retry-after": "1" });
  return jsonResponse({ status: "ready", store: store.id });
}
