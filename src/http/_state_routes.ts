/** State objects: write one ahead of its checkpoint, read one of a checkpoint. */
import type * as v from "valibot";
import { TidemarkError } from "../engine/errors.ts";
import { STATE } from "./_answers.ts";
import { CHECKPOINT_STATE_PATH, STATE_PATH } from "./_requests.ts";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { answer } from "./_answer.ts";
import { beginning } from "./_answer_streams.ts";
import { BYTES } from "./media_types.ts";

/** Routes of state objects. */
export const STATE_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/v1/jobs/:job/states/:state",
    operationId: "writeState",
    tag: "states",
    summary: "Writes a state that a checkpoint is to have",
    right: "append",
    request: {
      path: STATE_PATH,
      body: { content: { [BYTES]: { description: "The state's bytes, of any length" } } },
    },
    responses: {
      201: {
        description: "The state object, on disk, but in no checkpoint yet",
        json: STATE,
      },
    },
    errors: ["backpressure", "aborted"],
    /** The body goes to the store as it comes: only a piece of it is in memory. */
    async handle(request, { path }) {
      const job = await request.job();
      const { signal } = request;
      const pieces = request.stream();
      // Read first: what can't be read leaves nothing behind in the store.
      const first = await pieces.next();
      try {
        return answer(await job.writeState(path.state, following(first, pieces), { signal }), 201);
      } finally {
        // What the engine did not read, as it refused the state, is not waited for.
        pieces.return(undefined).catch(() => undefined);
      }
    },
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/checkpoints/:uuid/states/:state",
    operationId: "readState",
    tag: "states",
    summary: "Reads a state of a checkpoint",
    right: "read",
    request: { path: CHECKPOINT_STATE_PATH },
    responses: {
      200: {
        description: "The state's bytes; cut where a block is bad",
        content: { [BYTES]: { description: "The state's bytes" } },
        headers: { etag: "XXH64 of all of it" },
      },
    },
    errors: [
      "checkpoint-not-found",
      "state-not-found",
      "snapshot-expired",
      "backpressure",
      "aborted",
    ],
    handle: (request, { path }) => read(request, path),
  }),
];

/** What has been read, and the rest. */
async function* following(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (!first.done) yield first.value;
  yield* rest;
}

type StatePath = v.InferOutput<v.StrictObjectSchema<typeof CHECKPOINT_STATE_PATH, undefined>>;

/** The first piece is read before the status is sent, so that what is not there is a 404. */
async function read(
  request: RouteRequest,
  { state: name, uuid: at }: StatePath,
): Promise<Response> {
  const job = await request.job();
  const { signal } = request;
  const { uuid, states } = await job.checkpointDetails(at);
  const state = states.find((one) => one.name === name);
  const body = await request.services.answerStreams.open(() =>
    beginning(job.readState(name, { at: uuid, signal }))
  );
  if (state === undefined) throw new TidemarkError("internal", `State ${name} is not listed`);
  return new Response(body, {
    headers: {
      "content-type": BYTES,
      "content-length": String(state.size),
      "etag": `"${state.xxh64}"`,
      "cache-control": "no-store",
    },
  });
}
