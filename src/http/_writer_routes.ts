/** Writers: append, persist, retire, restore. */
import * as v from "valibot";
import { TidemarkError } from "../engine/errors.ts";
import {
  changesFromCborArray,
  changesFromCborSequence,
  changesFromJson,
  changesFromNdjson,
} from "../engine/format/change_input.ts";
import type { EncodedChanges, Job, Writer, WriterPosition } from "../engine/types.ts";
import { APPENDED, CHANGE, PERSISTED, RESTORED, ROLLED, WRITER, WRITERS } from "./_answers.ts";
import {
  APPEND_HEADERS,
  APPEND_QUERY,
  EMPTY_BODY,
  JOB_PATH,
  PERSIST_BODY,
  RESTORE_QUERY,
  TRUNCATE_BODY,
  WRITER_BODY,
  WRITER_PATH,
} from "./_requests.ts";
import { restoreResponse } from "./_restore.ts";
import { type BodyDeclaration, type Route, route, type RouteInput } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { type Answer, answer } from "./_answer.ts";
import { CBOR, CBOR_SEQUENCE, JSON_TYPE, NDJSON } from "./media_types.ts";
import type { Problem } from "./problem.ts";

const READERS: Readonly<Record<string, (bytes: Uint8Array) => EncodedChanges>> = {
  [CBOR_SEQUENCE]: changesFromCborSequence,
  [CBOR]: changesFromCborArray,
  [NDJSON]: changesFromNdjson,
  [JSON_TYPE]: changesFromJson,
};

/** Routes of writers. */
export const WRITER_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/jobs/:job/writers",
    operationId: "listWriters",
    tag: "writers",
    summary: "Says how every writer stands",
    right: "read",
    request: { path: JOB_PATH },
    responses: { 200: { description: "The writers, in order of name", json: WRITERS } },
    errors: [],
    handle: async (request) => answer({ writers: await (await request.job()).writers() }),
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/writers/:writer",
    operationId: "showWriter",
    tag: "writers",
    summary: "Says how one writer stands",
    right: "read",
    request: { path: WRITER_PATH },
    responses: { 200: { description: "The writer", json: WRITER } },
    errors: ["writer-not-found"],
    handle: async (request, { path }) => answer(await positionOf(await request.job(), path.writer)),
  }),
  route({
    method: "PUT",
    path: "/v1/jobs/:job/writers/:writer",
    operationId: "beginWriter",
    tag: "writers",
    summary: "Begins a writer unless it is there; needed only for a range of key groups",
    right: "append",
    request: { path: WRITER_PATH, body: { json: WRITER_BODY } },
    responses: { 200: { description: "The writer, as it stands", json: WRITER } },
    errors: [],
    async handle(request, { path: { writer }, body }) {
      const job = await request.job();
      job.writer(writer, body);
      return answer(await positionOf(job, writer));
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/writers/:writer/changes",
    operationId: "append",
    tag: "writers",
    summary: "Appends",
    description: "All of it is taken, or nothing. With `tidemark-offset` the same append may be " +
      "repeated as often as needed: it is taken once.",
    right: "append",
    request: {
      path: WRITER_PATH,
      query: APPEND_QUERY,
      headers: APPEND_HEADERS,
      body: {
        content: {
          [CBOR_SEQUENCE]: { description: "A CBOR sequence (RFC 8742) of [keyGroup, bytes]" },
          [CBOR]: { description: "One CBOR array of [keyGroup, bytes]" },
          [NDJSON]: { description: "Lines of JSON, each a Change" },
          [JSON_TYPE]: { description: "One JSON array of changes", schema: v.array(CHANGE) },
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
      "aborted",
    ],
    handle: append,
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:job/writers/:writer/changes",
    operationId: "restore",
    tag: "writers",
    summary: "Restores",
    description:
      "Streams the changes in order. An answer without `end` was cut short: don't use it.",
    right: "read",
    request: { path: WRITER_PATH, query: RESTORE_QUERY },
    responses: {
      200: {
        description: "The changes in order, and the trailer",
        content: {
          [NDJSON]: {
            description: 'Lines of JSON, each a Change; the last is the trailer, `{ "end": … }`',
          },
          [CBOR_SEQUENCE]: { description: "A CBOR sequence; the last item is the trailer, a map" },
          [JSON_TYPE]: {
            description: "One object: the changes, then the trailer",
            schema: RESTORED,
          },
          [CBOR]: { description: "One map: the changes, then the trailer" },
        },
      },
    },
    errors: [
      "checkpoint-not-found",
      "writer-not-found",
      "truncated",
      "snapshot-expired",
      "backpressure",
      "aborted",
    ],
    async handle(request, { path, query, accepted }) {
      const job = await request.job();
      const streams = request.services.answerStreams;
      const tell = (error: TidemarkError): Problem => request.tell(error);
      const wish = { mediaType: accepted, streams, tell };
      const options = { ...query, writers: [path.writer], signal: request.signal };
      return await restoreResponse(job, options, wish);
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
    errors: ["writer-not-found", "truncated", "aborted"],
    async handle(request, { path, body }) {
      const writer = await writerOf(request, path.writer);
      return answer(await writer.persist(body.from, { signal: request.signal }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/writers/:writer/roll",
    operationId: "rollWriter",
    tag: "writers",
    summary: "Ends the active change set, so that it can be truncated up to here",
    right: "append",
    request: { path: WRITER_PATH, body: { json: EMPTY_BODY } },
    responses: { 200: { description: "The change set that is active now", json: ROLLED } },
    errors: ["writer-not-found"],
    async handle(request, { path }) {
      const writer = await writerOf(request, path.writer);
      return answer({ sequenceNumber: writer.nextSequenceNumber() });
    },
  }),
  route({
    method: "POST",
    path: "/v1/jobs/:job/writers/:writer/truncate",
    operationId: "truncateWriter",
    tag: "writers",
    summary: "Gives up what lies below a change set, with the next checkpoint",
    right: "append",
    request: { path: WRITER_PATH, body: { json: TRUNCATE_BODY } },
    responses: { 200: { description: "The writer, as it stands", json: WRITER } },
    errors: ["writer-not-found"],
    async handle(request, { path, body }) {
      const writer = await writerOf(request, path.writer);
      writer.truncate(body.to);
      return answer(await positionOf(await request.job(), path.writer));
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
      return answer(await positionOf(job, writer));
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
    // Who goes away now loses an answer: what was appended is made durable all the same.
    const options = { ack: query.ack, run: headers["tidemark-run"] };
    const result = await writer.appendAt(headers["tidemark-offset"], changes, options);
    return answer(result.ack === "buffered" ? { ...result, mayBeLost: true } : result);
  } finally {
    body.release();
  }
}

async function positionOf(job: Job, writer: string): Promise<WriterPosition> {
  const position = (await job.writers()).find((one) => one.writer === writer);
  if (position !== undefined) return position;
  throw new TidemarkError(
    "writer-not-found",
    `Cannot find writer ${writer} of job ${job.id}: there is no such writer; ` +
      `the first append begins one`,
    { details: { job: job.id, writer } },
  );
}

/** A writer that is there. */
async function writerOf(request: RouteRequest, id: string): Promise<Writer> {
  const job = await request.job();
  await positionOf(job, id);
  return job.writer(id);
}
