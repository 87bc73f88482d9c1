/** Checkpoints: make, list, show, pin. */
import type { Job } from "../engine/types.ts";
import {
  check,
  CHECKPOINT_BODY,
  CHECKPOINT_PATH,
  CHECKPOINTS_QUERY,
  NO_QUERY,
  PIN_BODY,
  UUID_PATH,
} from "./_requests.ts";
import type { Route, RouteRequest } from "./_route.ts";
import { jsonResponse } from "./json.ts";

/** Routes of checkpoints. */
export const CHECKPOINT_ROUTES: readonly Route[] = [
  { method: "POST", path: "/v1/jobs/:job/checkpoints", handle: checkpoint },
  { method: "GET", path: "/v1/jobs/:job/checkpoints", handle: listCheckpoints },
  { method: "GET", path: "/v1/jobs/:job/checkpoints/:uuid", handle: showCheckpoint },
  { method: "DELETE", path: "/v1/jobs/:job/checkpoints/:uuid", handle: deleteCheckpoint },
  { method: "POST", path: "/v1/jobs/:job/checkpoints/:uuid/abort", handle: abort },
  { method: "PUT", path: "/v1/jobs/:job/checkpoints/:uuid/pin", handle: pin },
  { method: "DELETE", path: "/v1/jobs/:job/checkpoints/:uuid/pin", handle: unpin },
];

async function checkpoint(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const options = await request.json(CHECKPOINT_BODY);
  const job = await request.job();
  const made = await job.checkpoint(options);
  return jsonResponse(made, 201, { location: `/v1/jobs/${job.id}/checkpoints/${made.uuid}` });
}

async function listCheckpoints(request: RouteRequest): Promise<Response> {
  const { unpublished = false } = request.query(CHECKPOINTS_QUERY);
  const job = await request.job();
  const checkpoints = await job.checkpoints();
  if (!unpublished) return jsonResponse({ checkpoints });
  return jsonResponse({ checkpoints, unpublished: job.unpublishedCheckpoints() });
}

async function showCheckpoint(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { at } = check(CHECKPOINT_PATH, "path", { at: request.param("uuid") });
  const job = await request.job();
  return jsonResponse(await job.checkpointDetails(at));
}

async function deleteCheckpoint(request: RouteRequest): Promise<Response> {
  const uuid = uuidOf(request);
  const job = await request.job();
  return jsonResponse(await job.deleteCheckpoint(uuid));
}

async function abort(request: RouteRequest): Promise<Response> {
  const uuid = uuidOf(request);
  const job = await request.job();
  return jsonResponse({ uuid, isAborted: job.abortCheckpoint(uuid) });
}

async function pin(request: RouteRequest): Promise<Response> {
  const uuid = uuidOf(request);
  const { reason } = await request.json(PIN_BODY);
  const job = await request.job();
  await job.pin(uuid, reason);
  return await listed(job, uuid);
}

async function unpin(request: RouteRequest): Promise<Response> {
  const uuid = uuidOf(request);
  const job = await request.job();
  await job.unpin(uuid);
  return await listed(job, uuid);
}

function uuidOf(request: RouteRequest): string {
  request.query(NO_QUERY);
  return check(UUID_PATH, "path", { uuid: request.param("uuid") }).uuid;
}

/** The checkpoint as the list has it. */
async function listed(job: Job, uuid: string): Promise<Response> {
  return jsonResponse((await job.checkpoints()).find((checkpoint) => checkpoint.uuid === uuid));
}
