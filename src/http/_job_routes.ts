/** Jobs: create, show, list, resume. */
import type * as v from "valibot";
import { checkRetention } from "../engine/checkpoint/retention.ts";
import { hasCode } from "../engine/errors.ts";
import type { Job, RetentionPolicy } from "../engine/types.ts";
import { JOB, JOBS, RESUMED } from "./_answers.ts";
import { JOB_BODY, JOB_PATH, RESUME_BODY } from "./_requests.ts";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { type Answer, answer } from "./_answer.ts";
import { RequestError } from "./problem.ts";

/** Routes of jobs. */
export const JOB_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/jobs",
    operationId: "listJobs",
    tag: "jobs",
    summary: "Lists the jobs that the token may read",
    right: "read",
    request: {},
    responses: { 200: { description: "The jobs, in order of name", json: JOBS } },
    errors: [],
    handle: async ({ store, grant }) => {
      const jobs = (await store.jobs()).filter((job) => grant?.allows("read", job));
      return answer({ jobs: jobs.map((job) => ({ job })) });
    },
  }),
  route({
    method: "PUT",
    path: "/v1/jobs/:job",
    operationId: "createJob",
    tag: "jobs",
    summary: "Creates the job unless it is there; describes it",
    right: "admin",
    request: { path: JOB_PATH, body: { json: JOB_BODY } },
    responses: {
      200: { description: "The job was there", json: JOB },
      201: { description: "The job was made", json: JOB, headers: { location: "Its path" } },
    },
    errors: [],
    handle: (request, { body }) => createJob(request, body),
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job",
    operationId: "showJob",
    tag: "jobs",
    summary: "Describes the job",
    right: "read",
    request: { path: JOB_PATH },
    responses: { 200: { description: "The job", json: JOB } },
    errors: [],
    handle: async (request) => answer(await describe(await request.job())),
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/resume",
    operationId: "resume",
    tag: "jobs",
    summary: "Rewinds the job to where its pipeline starts again",
    right: "append",
    request: { path: JOB_PATH, body: { json: RESUME_BODY } },
    responses: { 200: { description: "Where to start", json: RESUMED } },
    errors: ["checkpoint-not-found", "fingerprint-mismatch"],
    handle: (request, { body }) => resume(request, body),
  }),
];

async function createJob(
  request: RouteRequest,
  { retention, ...options }: v.InferOutput<typeof JOB_BODY>,
): Promise<Answer> {
  if (retention !== undefined) refuseBadRetention(retention);
  try {
    return answer(await describe(await keep(await request.job(options), retention)));
  } catch (error) {
    if (!hasCode(error, "job-not-found")) throw error;
  }
  const job = await keep(await request.job({ ...options, create: true }), retention);
  return answer(await describe(job), 201, { location: `/v1/jobs/${job.id}` });
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

async function resume(
  request: RouteRequest,
  options: v.InferOutput<typeof RESUME_BODY>,
): Promise<Answer> {
  const job = await request.job({ fallback: options.fallback });
  const { checkpoint, ...result } = await job.resume(options);
  return answer({ ...result, checkpoint: checkpoint ?? null });
}
