/** Checkpoints: make, list, show, delete, give up, pin. */
import type { Job } from "../engine/types.ts";
import { CHECKPOINT, CHECKPOINT_DETAILS, CHECKPOINTS, COLLECTION, GIVEN_UP } from "./_answers.ts";
import {
  CHECKPOINT_BODY,
  CHECKPOINT_HEADERS,
  CHECKPOINT_PATH,
  CHECKPOINTS_QUERY,
  EMPTY_BODY,
  JOB_PATH,
  PIN_BODY,
  UUID_PATH,
} from "./_requests.ts";
import { type Route, route } from "./_route.ts";
import { type Answer, answer } from "./_answer.ts";

/** Routes of checkpoints. */
export const CHECKPOINT_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/v1/jobs/:job/checkpoints",
    operationId: "checkpoint",
    tag: "checkpoints",
    summary: "Makes a checkpoint",
    description: "Put the source's position into `metadata`: `resume` gives it back. Everything " +
      "that was appended before is in it, and durable.",
    right: "append",
    request: {
      path: JOB_PATH,
      headers: CHECKPOINT_HEADERS,
      body: { json: CHECKPOINT_BODY },
    },
    responses: {
      201: {
        description: "The checkpoint, published",
        json: CHECKPOINT,
        headers: { location: "Its path" },
      },
    },
    errors: [
      "checkpoint-exists",
      "checkpoint-not-found",
      "state-not-found",
      "too-many-checkpoints",
      "idempotency-conflict",
      "aborted",
    ],
    async handle(request, { body, headers }) {
      const job = await request.job();
      const { signal } = request;
      const made = await job.checkpoint({
        ...body,
        idempotencyKey: headers["idempotency-key"],
        run: headers["tidemark-run"],
        signal,
      });
      return answer(made, 201, { location: `/v1/jobs/${job.id}/checkpoints/${made.uuid}` });
    },
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/checkpoints",
    operationId: "listCheckpoints",
    tag: "checkpoints",
    summary: "Lists the checkpoints, oldest first",
    right: "read",
    request: { path: JOB_PATH, query: CHECKPOINTS_QUERY },
    responses: { 200: { description: "The checkpoints", json: CHECKPOINTS } },
    errors: [],
    handle: async (request, { query }) => listCheckpoints(await request.job(), query.unpublished),
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/checkpoints/:uuid",
    operationId: "showCheckpoint",
    tag: "checkpoints",
    summary: "Shows one checkpoint; `latest` is taken too",
    right: "read",
    request: { path: CHECKPOINT_PATH },
    responses: {
      200: {
        description: "The checkpoint with what stands in its manifest",
        json: CHECKPOINT_DETAILS,
      },
    },
    errors: ["checkpoint-not-found"],
    handle: async (request, { path }) =>
      answer(await (await request.job()).checkpointDetails(path.uuid)),
  }),
  route({
    method: "DELETE",
    path: "/v1/jobs/:job/checkpoints/:uuid",
    operationId: "deleteCheckpoint",
    tag: "checkpoints",
    summary: "Deletes one checkpoint",
    right: "admin",
    request: { path: UUID_PATH },
    responses: { 200: { description: "What went and what stays", json: COLLECTION } },
    errors: ["checkpoint-not-found", "checkpoint-in-use", "aborted"],
    async handle(request, { path }) {
      const job = await request.job();
      return answer(await job.deleteCheckpoint(path.uuid, { signal: request.signal }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/checkpoints/:uuid/abort",
    operationId: "abortCheckpoint",
    tag: "checkpoints",
    summary: "Gives up one that is being made",
    right: "append",
    request: { path: UUID_PATH, body: { json: EMPTY_BODY } },
    responses: { 200: { description: "Whether it was given up", json: GIVEN_UP } },
    errors: [],
    handle: async (request, { path: { uuid } }) =>
      answer({ uuid, isAborted: (await request.job()).abortCheckpoint(uuid) }),
  }),
  route({
    method: "PUT",
    path: "/v1/jobs/:job/checkpoints/:uuid/pin",
    operationId: "pinCheckpoint",
    tag: "checkpoints",
    summary: "Keeps a checkpoint whatever retention says",
    right: "admin",
    request: { path: UUID_PATH, body: { json: PIN_BODY } },
    responses: {
      200: { description: "The checkpoint as the list has it", json: CHECKPOINT },
    },
    errors: ["checkpoint-not-found", "aborted"],
    async handle(request, { path, body }) {
      const job = await request.job();
      await job.pin(path.uuid, body.reason, { signal: request.signal });
      return await listed(job, path.uuid);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/jobs/:job/checkpoints/:uuid/pin",
    operationId: "unpinCheckpoint",
    tag: "checkpoints",
    summary: "Leaves it to retention again",
    right: "admin",
    request: { path: UUID_PATH },
    responses: {
      200: { description: "The checkpoint as the list has it", json: CHECKPOINT },
    },
    errors: ["checkpoint-not-found", "aborted"],
    async handle(request, { path }) {
      const job = await request.job();
      await job.unpin(path.uuid, { signal: request.signal });
      return await listed(job, path.uuid);
    },
  }),
];

async function listCheckpoints(job: Job, unpublished = false): Promise<Answer> {
  const checkpoints = await job.checkpoints();
  if (!unpublished) return answer({ checkpoints });
  return answer({ checkpoints, unpublished: job.unpublishedCheckpoints() });
}

/** The checkpoint as the list has it. */
async function listed(job: Job, uuid: string): Promise<Answer> {
  return answer((await job.checkpoints()).find((checkpoint) => checkpoint.uuid === uuid));
}
