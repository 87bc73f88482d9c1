/** What a job keeps: collect, count, verify. */
import { TidemarkError } from "../engine/errors.ts";
import { GC_BODY, NO_QUERY, VERIFY_BODY } from "./_requests.ts";
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";

/** Routes of what a job keeps. */
export const UPKEEP_ROUTES: readonly Route[] = [
  { method: "POST", path: "/v1/jobs/:job/gc", handle: collect },
  { method: "GET", path: "/v1/jobs/:job/usage", handle: usage },
  { method: "POST", path: "/v1/jobs/:job/verify", handle: verify },
];

async function collect(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(GC_BODY);
  const job = await request.job();
  return jsonResponse(await job.collect(options));
}

async function usage(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const job = await request.job();
  return jsonResponse(await job.usage());
}

/** Reads no further when the client has gone away. */
async function verify(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { level } = await request.json(VERIFY_BODY);
  const { signal } = request;
  const job = await request.job();
  try {
    return jsonResponse(await job.verify({ level, signal }));
  } catch (error) {
    if (!signal.aborted || error instanceof TidemarkError) throw error;
    throw new TidemarkError("aborted", `Cannot verify job ${job.id}: the client has gone away`, {
      details: { job: job.id },
      cause: error,
    });
  }
}
