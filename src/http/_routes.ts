/** Every route of the app. */
import { HEALTH_ROUTES } from "./_health_routes.ts";
import { JOB_ROUTES } from "./_job_routes.ts";
import type { Route } from "./_route.ts";
import { WRITER_ROUTES } from "./_writer_routes.ts";

/** In no particular order: no two match the same request. */
export const ROUTES: readonly Route[] = [...HEALTH_ROUTES, ...JOB_ROUTES, ...WRITER_ROUTES];
