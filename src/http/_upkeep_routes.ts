/** What a job keeps: collect, count, verify, salvage. */
import type * as v from "valibot";
import { authorize } from "./_authorize.ts";
import { COLLECTION, EXPLANATION, SALVAGE, USAGE, VERIFIED } from "./_answers.ts";
import { EXPLAIN_BODY, GC_BODY, JOB_PATH, SALVAGE_BODY, VERIFY_BODY } from "./_requests.ts";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { type Answer, answer } from "./_answer.ts";

/** Routes of what a job keeps. */
export const UPKEEP_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/v1/jobs/:job/gc",
    operationId: "collect",
    tag: "upkeep",
    summary: "Removes what retention lets go",
    right: "admin",
    request: { path: JOB_PATH, body: { json: GC_BODY } },
    responses: {
      200: {
        description: "What went and what stays, with the reason for each",
        json: COLLECTION,
      },
    },
    errors: ["aborted"],
    async handle(request, { body }) {
      const job = await request.job();
      return answer(await job.collect({ ...body, signal: request.signal }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/explain",
    operationId: "explain",
    tag: "upkeep",
    summary: "Says why an object stays or goes",
    right: "read",
    request: { path: JOB_PATH, body: { json: EXPLAIN_BODY } },
    responses: {
      200: { description: "What the next collection does with it, and why", json: EXPLANATION },
    },
    errors: ["aborted"],
    async handle(request, { path, body: { key, ...options } }) {
      // Any key can be asked for: those of others are for who may read everything.
      const isOwn = !key.includes("/") || key.startsWith(`jobs/${path.job}/`);
      if (!isOwn) authorize(request.grant, "read", "store");
      const job = await request.job();
      return answer(await job.explain(key, { ...options, signal: request.signal }));
    },
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/usage",
    operationId: "usage",
    tag: "upkeep",
    summary: "Counts the room that the job takes",
    right: "read",
    request: { path: JOB_PATH },
    responses: {
      200: { description: "Bytes and objects, by kind and by checkpoint", json: USAGE },
    },
    errors: ["aborted"],
    async handle(request) {
      const job = await request.job();
      return answer(await job.usage({ signal: request.signal }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/verify",
    operationId: "verify",
    tag: "upkeep",
    summary: "Checks what the job needs",
    right: "read",
    request: { path: JOB_PATH, body: { json: VERIFY_BODY } },
    responses: { 200: { description: "What was read, and what is bad", json: VERIFIED } },
    errors: ["aborted"],
    async handle(request, { body: { level } }) {
      const job = await request.job();
      const { answerStreams } = request.services;
      return await answerStreams.during(async () =>
        answer(await job.verify({ level, signal: request.signal }))
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/salvage",
    operationId: "salvage",
    tag: "upkeep",
    summary: "Brings back a job that can't be opened",
    right: "admin",
    request: { path: JOB_PATH, body: { json: SALVAGE_BODY } },
    responses: {
      200: { description: "What was found, and what would be done or was", json: SALVAGE },
    },
    errors: ["plan-changed", "snapshot-expired", "aborted"],
    handle: (request, { body }) => salvage(request, body),
  }),
];

/** Of a job that can't be opened: it is not named as others are. */
async function salvage(
  request: RouteRequest,
  options: v.InferOutput<typeof SALVAGE_BODY>,
): Promise<Answer> {
  const { signal, store, services: { toTakeOver } } = request;
  const job = request.param("job");
  const takeOver = toTakeOver.isWanted(job);
  return answer(await store.salvage(job, { ...options, takeOver, signal }));
}
