/** Writers: append, persist, retire, restore. */
import { TidemarkError } from "../engine/errors.ts";
import {
  changesFromCborArray,
  changesFromCborSequence,
  changesFromNdjson,
} from "../engine/format/change_input.ts";
import type { EncodedChanges, Job } from "../engine/types.ts";
import { APPENDED, PERSISTED, WRITER } from "./_answers.ts";
import {
  APPEND_HEADERS,
  APPEND_QUERY,
  EMPTY_BODY,
  PERSIST_BODY,
  RESTORE_QUERY,
  WRITER_PATH,
} from "./_requests.ts";
import { restoreResponse } from "./_restore.ts";
import { type BodyDeclaration, type Route, route, type RouteInput } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { type Answer, answer } from "./_answer.ts";
import { CBOR, CBOR_SEQUENCE, NDJSON } from "./media_types.ts";

const READERS: Readonly<Record<string, (bytes: Uint8Array) => EncodedChanges>> = {
  [CBOR_SEQUENCE]: changesFromCborSequence,
  [CBOR]: changesFromCborArray,
  [NDJSON]: changesFromNdjson,
};

/** Routes of writers. */
export const WRITER_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/v1/jobs/:job/writers/:writer/changes",
    operationId: "append",
    tag: "writers",
    summary: "Appends",
    right: "append",
    request: {
      path: WRITER_PATH,
      query: APPEND_QUERY,
      headers: APPEND_HEADERS,
      body: {
        content: {
          [CBOR_SEQUENCE]: { description: "A CBOR sequence of [keyGroup, bytes]" },
          [CBOR]: { description: "One CBOR array of [keyGroup, bytes]" },
          [NDJSON]: { description: "Lines of JSON" },
        },
      },
    },
    responses: { 200: { description: "Where the changes lie", json: APPENDED } },
    errors: [
      "invalid-change",
      "change-too-large",
      "offset-mismatch",
      "offset-conflict",
      "run-required",
      "backpressure",
    ],
    handle: append,
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/writers/:writer/changes",
    operationId: "restore",
    tag: "writers",
    summary: "Restores",
    right: "read",
    request: { path: WRITER_PATH, query: RESTORE_QUERY },
    responses: {
      200: {
        description: "The changes in order, and the trailer",
        content: {
          [NDJSON]: { description: "Lines of JSON; the last is the trailer" },
          [CBOR_SEQUENCE]: { description: "A CBOR sequence; the last item is the trailer, a map" },
        },
      },
    },
    errors: ["checkpoint-not-found", "writer-not-found", "truncated", "snapshot-expired"],
    async handle(request, { path, query, accepted }) {
      const job = await request.job();
      const streams = request.services.answerStreams;
      const wish = { mediaType: accepted, streams };
      const response = await restoreResponse(job, path.writer, query, wish);
      // Nobody reads the body of a HEAD: what it holds is let go at once.
      if (request.method === "HEAD") await response.body?.cancel();
      return response;
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/writers/:writer/persist",
    operationId: "persist",
    tag: "writers",
    summary: "Waits until everything is durable",
    right: "append",
    request: { path: WRITER_PATH, body: { json: PERSIST_BODY } },
    responses: { 200: { description: "What is durable now, and where it lies", json: PERSISTED } },
    errors: ["writer-not-found", "truncated"],
    async handle(request, { path, body }) {
      const job = await request.job();
      await requireWriter(job, path.writer);
      return answer(await job.writer(path.writer).persist(body.from));
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/writers/:writer/retire",
    operationId: "retireWriter",
    tag: "writers",
    summary: "Ends a writer with the next checkpoint",
    right: "admin",
    request: { path: WRITER_PATH, body: { json: EMPTY_BODY } },
    responses: { 200: { description: "The writer, as it stands", json: WRITER } },
    errors: ["writer-not-found"],
    async handle(request, { path: { writer } }) {
      const job = await request.job();
      job.retireWriter(writer);
      return answer((await job.writers()).find((position) => position.writer === writer));
    },
  }),
];

type AppendInput = RouteInput<
  typeof WRITER_PATH,
  typeof APPEND_QUERY,
  typeof APPEND_HEADERS,
  BodyDeclaration
>;

async function append(
  request: RouteRequest,
  { path, query, headers, type }: Omit<AppendInput, "body">,
): Promise<Answer> {
  const job = await request.job();
  const body = await request.body();
  try {
    // Read first: what can't be read begins no writer.
    const changes = READERS[type](body.bytes);
    const writer = job.writer(path.writer);
    const options = { ack: query.ack, run: headers["tidemark-run"] };
    return answer(await writer.appendAt(headers["tidemark-offset"], changes, options));
  } finally {
    body.release();
  }
}

async function requireWriter(job: Job, writer: string): Promise<void> {
  const writers = await job.writers();
  if (writers.some((position) => position.writer === writer)) return;
  throw new TidemarkError(
    "writer-not-found",
    `Cannot persist writer ${writer} of job ${job.id}: there is no such writer; ` +
      `the first append begins one`,
    { details: { job: job.id, writer } },
  );
}
