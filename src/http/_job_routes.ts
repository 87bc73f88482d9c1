/** Jobs: create, show, list, resume. */
import { checkRetention } from "../engine/checkpoint/retention.ts";
import { hasCode } from "../engine/errors.ts";
import type { Job, RetentionPolicy } from "../engine/types.ts";
import { JOB_BODY, NO_QUERY, RESUME_BODY } from "./_requests.ts";
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";
import { RequestError } from "./problem.ts";

/** Routes of jobs. */
export const JOB_ROUTES: readonly Route[] = [
  { method: "GET", path: "/v1/jobs", handle: listJobs },
  { method: "PUT", path: "/v1/jobs/:job", handle: createJob },
  { method: "GET", path: "/v1/jobs/:job", handle: showJob },
  { method: "POST", path: "/v1/jobs/:job/resume", handle: resume },
];

async function listJobs(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  return jsonResponse({ jobs: (await request.store.jobs()).map((job) => ({ job })) });
}

async function createJob(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { retention, ...options } = await request.json(JOB_BODY);
  if (retention !== undefined) refuseBadRetention(retention);
  try {
    return jsonResponse(await describe(await keep(await request.job(options), retention)));
  } catch (error) {
    if (!hasCode(error, "job-not-found")) throw error;
  }
  const job = await keep(await request.job({ ...options, create: true }), retention);
  return jsonResponse(await describe(job), 201, { location: `/v1/jobs/${job.id}` });
}

/** Before the job is made. */
function refuseBadRetention(retention: RetentionPolicy): void {
  try {
    checkRetention(retention);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RequestError(400, `Cannot read the body: retention: ${error.message}`);
  }
}

async function keep(job: Job, retention: RetentionPolicy | undefined): Promise<Job> {
  if (retention !== undefined) await job.setRetention(retention);
  return job;
}

async function showJob(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  return jsonResponse(await describe(await request.job()));
}

async function describe(job: Job): Promise<Record<string, unknown>> {
  const checkpoints = await job.checkpoints();
  return {
    job: job.id,
    fingerprint: job.fingerprint,
    epoch: job.epoch,
    run: job.run,
    isAvailable: job.availability.isAvailable(),
    head: checkpoints.find((entry) => entry.isHead)?.uuid ?? null,
    checkpoints: checkpoints.length,
    writers: await job.writers(),
    retention: job.retention,
    recovery: job.recovery,
  };
}

async function resume(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(RESUME_BODY);
  const job = await request.job({ fallback: options.fallback });
  const { checkpoint, ...result } = await job.resume(options);
  return jsonResponse({ ...result, checkpoint: checkpoint ?? null });
}
