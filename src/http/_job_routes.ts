/** Jobs: create, show, list, resume. */
import type * as v from "valibot";
import { checkRetention } from "../engine/checkpoint/retention.ts";
import { hasCode } from "../engine/errors.ts";
import type { Job } from "../engine/types.ts";
import { JOB, JOB_DELETION, JOBS, RESUMED, RETENTION } from "./_answers.ts";
import { DELETE_JOB_QUERY, JOB_BODY, JOB_PATH, RESUME_BODY, RETENTION_BODY } from "./_requests.ts";
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
    errors: ["aborted"],
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
    method: "DELETE",
    path: "/v1/jobs/:job",
    operationId: "deleteJob",
    tag: "jobs",
    summary: "Deletes the job with everything of it",
    right: "admin",
    request: { path: JOB_PATH, query: DELETE_JOB_QUERY },
    responses: { 200: { description: "What was deleted", json: JOB_DELETION } },
    errors: ["aborted"],
    handle: (request, { path, query }) => deleteJob(request, path.job, query.confirm),
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/retention",
    operationId: "showRetention",
    tag: "jobs",
    summary: "Says which checkpoints stay",
    right: "read",
    request: { path: JOB_PATH },
    responses: { 200: { description: "The retention", json: RETENTION } },
    errors: [],
    handle: async (request) => answer((await request.job()).retention),
  }),
  route({
    method: "PUT",
    path: "/v1/jobs/:job/retention",
    operationId: "setRetention",
    tag: "jobs",
    summary: "Sets which checkpoints stay",
    right: "admin",
    request: { path: JOB_PATH, body: { json: RETENTION_BODY } },
    responses: { 200: { description: "The retention", json: RETENTION } },
    errors: ["aborted"],
    async handle(request, { body }) {
      const job = await request.job();
      await job.setRetention(body, { signal: request.signal });
      return answer(job.retention);
    },
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
    errors: ["checkpoint-not-found", "fingerprint-mismatch", "aborted"],
    handle: (request, { body }) => resume(request, body),
  }),
];

async function createJob(
  request: RouteRequest,
  { retention, ...options }: v.InferOutput<typeof JOB_BODY>,
): Promise<Answer> {
  // Before the job is made.
  if (retention !== undefined) checkRetention(retention);
  const open = async (create: boolean): Promise<Job> => {
    const job = await request.job({ ...options, create });
    if (retention !== undefined) await job.setRetention(retention, { signal: request.signal });
    return job;
  };
  try {
    return answer(await describe(await open(false)));
  } catch (error) {
    if (!hasCode(error, "job-not-found")) throw error;
  }
  const job = await open(true);
  return answer(await describe(job), 201, { location: `/v1/jobs/${job.id}` });
}

async function deleteJob(request: RouteRequest, job: string, confirm: string): Promise<Answer> {
  if (confirm !== job) {
    throw new RequestError(
      400,
      `Cannot delete job ${job}: confirm names ${
        JSON.stringify(confirm)
      }; send confirm=${job} to ` +
        `delete it with everything of it`,
      { job, confirm },
    );
  }
  const { signal, store, services: { toTakeOver } } = request;
  return answer(await store.deleteJob(job, { signal, takeOver: toTakeOver.isWanted(job) }));
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
  const { checkpoint, ...result } = await job.resume({ ...options, signal: request.signal });
  return answer({ ...result, checkpoint: checkpoint ?? null });
}
