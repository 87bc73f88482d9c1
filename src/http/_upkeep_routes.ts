/** What a job keeps: collect, count, verify, salvage. */
import { TidemarkError } from "../engine/errors.ts";
import { EXPLAIN_BODY, GC_BODY, NO_QUERY, SALVAGE_BODY, VERIFY_BODY } from "./_requests.ts";
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";

/** Routes of what a job keeps. */
export const UPKEEP_ROUTES: readonly Route[] = [
  { method: "POST", path: "/v1/jobs/:job/gc", handle: collect },
  { method: "POST", path: "/v1/jobs/:job/explain", handle: explain },
  { method: "GET", path: "/v1/jobs/:job/usage", handle: usage },
  { method: "POST", path: "/v1/jobs/:job/verify", handle: verify },
  { method: "POST", path: "/v1/jobs/:job/salvage", handle: salvage },
];

async function collect(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(GC_BODY);
  const job = await request.job();
  return jsonResponse(await job.collect(options));
}

async function explain(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { key, ...options } = await request.json(EXPLAIN_BODY);
  const job = await request.job();
  return jsonResponse(await job.explain(key, options));
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
  const job = await request.job();
  const { signal } = request;
  return await unlessGone(request, "verify", () => job.verify({ level, signal }));
}

/** Of a job that can't be opened: it is not named as others are. */
async function salvage(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(SALVAGE_BODY);
  const { signal, store, services: { toTakeOver } } = request;
  const job = request.param("job");
  const takeOver = toTakeOver.isWanted(job);
  return await unlessGone(
    request,
    "salvage",
    () => store.salvage(job, { ...options, takeOver, signal }),
  );
}

/** Tells a client that went away from what went wrong. */
async function unlessGone(
  request: RouteRequest,
  verb: string,
  action: () => Promise<unknown>,
): Promise<Response> {
  try {
    return jsonResponse(await action());
  } catch (error) {
    if (!request.signal.aborted || error instanceof TidemarkError) throw error;
    const job = request.param("job");
    throw new TidemarkError("aborted", `Cannot ${verb} job ${job}: the client has gone away`, {
      details: { job },
      cause: error,
    });
  }
}
