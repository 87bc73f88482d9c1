/** State objects: write one ahead of its checkpoint, read one of a checkpoint. */
import { TidemarkError } from "../engine/errors.ts";
import { check, CHECKPOINT_PATH, NO_QUERY } from "./_requests.ts";
import { mediaType, type Route, type RouteRequest, unsupportedMediaType } from "./_route.ts";
import { jsonResponse } from "./json.ts";
import { BYTES } from "./media_types.ts";

/** Routes of state objects. */
export const STATE_ROUTES: readonly Route[] = [
  { method: "POST", path: "/v1/jobs/:job/states/:state", handle: write },
  { method: "GET", path: "/v1/jobs/:job/checkpoints/:uuid/states/:state", handle: read },
];

/** The body goes to the store as it comes: only a piece of it is in memory. */
async function write(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const type = mediaType(request.headers);
  if (type !== BYTES) throw unsupportedMediaType(type, [BYTES]);
  const job = await request.job();
  const { signal } = request;
  return jsonResponse(
    await job.writeState(request.param("state"), request.stream(), { signal }),
    201,
  );
}

/** The first piece is read before the status is sent, so that what is not there is a 404. */
async function read(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { at } = check(CHECKPOINT_PATH, "path", { at: request.param("uuid") });
  const name = request.param("state");
  const job = await request.job();
  const { uuid, states } = await job.checkpointDetails(at);
  const pieces = job.readState(name, { at: uuid })[Symbol.asyncIterator]();
  const first = await pieces.next();
  const state = states.find((one) => one.name === name);
  if (state === undefined) throw new TidemarkError("internal", `State ${name} is not listed`);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.done) controller.close();
      else controller.enqueue(first.value);
    },
    // Called only when the reader asks for more: that is the backpressure.
    async pull(controller) {
      const piece = await pieces.next();
      if (piece.done) controller.close();
      else controller.enqueue(piece.value);
    },
    async cancel() {
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: {
      "content-type": BYTES,
      "content-length": String(state.size),
      "etag": `"${state.xxh64}"`,
      "cache-control": "no-store",
    },
  });
}
