/** Every route of the app. */
import { ARCHIVE_ROUTES } from "./_archive_routes.ts";
import { CHECKPOINT_ROUTES } from "./_checkpoint_routes.ts";
import { HEALTH_ROUTES } from "./_health_routes.ts";
import { JOB_ROUTES } from "./_job_routes.ts";
import { OPENAPI_ROUTES } from "./_openapi_routes.ts";
import { STATE_ROUTES } from "./_state_routes.ts";
import { UPKEEP_ROUTES } from "./_upkeep_routes.ts";
import type { Route } from "./_route.ts";
import { WRITER_ROUTES } from "./_writer_routes.ts";

/** In no particular order: no two match the same request. */
export const ROUTES: readonly Route[] = [
  ...HEALTH_ROUTES,
  ...OPENAPI_ROUTES,
  ...JOB_ROUTES,
  ...ARCHIVE_ROUTES,
  ...CHECKPOINT_ROUTES,
  ...STATE_ROUTES,
  ...UPKEEP_ROUTES,
  ...WRITER_ROUTES,
];
