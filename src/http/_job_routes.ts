/** Jobs: create, show, list, resume; and their checkpoints. */
import { hasCode } from "../engine/errors.ts";
import type { Job } from "../engine/types.ts";
import {
  check,
  CHECKPOINT_BODY,
  CHECKPOINT_PATH,
  JOB_BODY,
  NO_QUERY,
  RESUME_BODY,
} from "./_requests.ts";
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";

/** Routes of jobs and checkpoints. */
export const JOB_ROUTES: readonly Route[] = [
  { method: "GET", path: "/v1/jobs", handle: listJobs },
  { method: "PUT", path: "/v1/jobs/:job", handle: createJob },
  { method: "GET", path: "/v1/jobs/:job", handle: showJob },
  { method: "POST", path: "/v1/jobs/:job/resume", handle: resume },
  { method: "POST", path: "/v1/jobs/:job/checkpoints", handle: checkpoint },
  { method: "GET", path: "/v1/jobs/:job/checkpoints", handle: listCheckpoints },
  { method: "GET", path: "/v1/jobs/:job/checkpoints/:at", handle: showCheckpoint },
];

async function listJobs(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  return jsonResponse({ jobs: (await request.store.jobs()).map((job) => ({ job })) });
}

async function createJob(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(JOB_BODY);
  try {
    return jsonResponse(await describe(await request.job(options)));
  } catch (error) {
    if (!hasCode(error, "job-not-found")) throw error;
  }
  const job = await request.job({ ...options, create: true });
  return jsonResponse(await describe(job), 201, { location: `/v1/jobs/${job.id}` });
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
    recovery: job.recovery,
  };
}

async function resume(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(RESUME_BODY);
  const job = await request.job();
  const { checkpoint, ...result } = await job.resume(options);
  return jsonResponse({ ...result, checkpoint: checkpoint ?? null });
}

async function checkpoint(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(CHECKPOINT_BODY);
  const job = await request.job();
  const made = await job.checkpoint(options);
  return jsonResponse(made, 201, { location: `/v1/jobs/${job.id}/checkpoints/${made.uuid}` });
}

async function listCheckpoints(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const job = await request.job();
  return jsonResponse({ checkpoints: await job.checkpoints() });
}

async function showCheckpoint(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { at } = check(CHECKPOINT_PATH, "path", { at: request.param("at") });
  const job = await request.job();
  return jsonResponse(await job.checkpointDetails(at));
}
