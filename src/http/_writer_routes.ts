/** Writers: append, persist, restore. */
import { TidemarkError } from "../engine/errors.ts";
import {
  changesFromCborArray,
  changesFromCborSequence,
  changesFromNdjson,
} from "../engine/format/change_input.ts";
import type { EncodedChanges, Job } from "../engine/types.ts";
import {
  APPEND_HEADERS,
  APPEND_QUERY,
  check,
  NO_QUERY,
  PERSIST_BODY,
  RESTORE_QUERY,
} from "./_requests.ts";
import { type RestoreFormat, restoreResponse } from "./_restore.ts";
import { mediaType, type Route, type RouteRequest, unsupportedMediaType } from "./_route.ts";
import { jsonResponse } from "./json.ts";
import { CBOR_ARRAY, CBOR_SEQUENCE, NDJSON } from "./media_types.ts";
import { RequestError } from "./problem.ts";

const READERS: ReadonlyMap<string, (bytes: Uint8Array) => EncodedChanges> = new Map([
  [CBOR_SEQUENCE, changesFromCborSequence],
  [CBOR_ARRAY, changesFromCborArray],
  [NDJSON, changesFromNdjson],
]);

/** Routes of writers. */
export const WRITER_ROUTES: readonly Route[] = [
  { method: "POST", path: "/v1/jobs/:job/writers/:writer/changes", handle: append },
  { method: "GET", path: "/v1/jobs/:job/writers/:writer/changes", handle: restore },
  { method: "POST", path: "/v1/jobs/:job/writers/:writer/persist", handle: persist },
  { method: "POST", path: "/v1/jobs/:job/writers/:writer/retire", handle: retire },
];

async function append(request: RouteRequest): Promise<Response> {
  const { ack } = request.query(APPEND_QUERY);
  const headers = check(APPEND_HEADERS, "headers", Object.fromEntries(request.headers));
  const type = mediaType(request.headers);
  const read = READERS.get(type);
  if (read === undefined) throw unsupportedMediaType(type, [...READERS.keys()]);
  const job = await request.job();
  const body = await request.body();
  try {
    // Read first: what can't be read begins no writer.
    const changes = read(body.bytes);
    const writer = job.writer(request.param("writer"));
    const options = { ack, run: headers["tidemark-run"] };
    return jsonResponse(await writer.appendAt(headers["tidemark-offset"], changes, options));
  } finally {
    body.release();
  }
}

async function persist(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const { from } = await request.json(PERSIST_BODY);
  const job = await request.job();
  const writer = request.param("writer");
  await requireWriter(job, writer);
  return jsonResponse(await job.writer(writer).persist(from));
}

/** Takes effect with the next published checkpoint. */
async function retire(request: RouteRequest): Promise<Response> {
  request.query(NO_QUERY);
  const job = await request.job();
  const writer = request.param("writer");
  job.retireWriter(writer);
  return jsonResponse((await job.writers()).find((position) => position.writer === writer));
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

async function restore(request: RouteRequest): Promise<Response> {
  const query = request.query(RESTORE_QUERY);
  const format = chooseFormat(request.headers.get("accept"));
  const job = await request.job();
  const response = await restoreResponse(job, request.param("writer"), query, format);
  // Nobody reads the body of a HEAD: what it holds is let go at once.
  if (request.method === "HEAD") await response.body?.cancel();
  return response;
}

function chooseFormat(accept: string | null): RestoreFormat {
  const wanted = (accept ?? "*/*").split(",").map((part) =>
    part.split(";")[0].trim().toLowerCase()
  );
  for (const type of wanted) {
    if (type === CBOR_SEQUENCE) return "cborseq";
    if (type === NDJSON || type === "*/*" || type === "application/*") return "ndjson";
  }
  throw new RequestError(
    406,
    `Cannot answer in ${wanted.join(", ")}: accept ${NDJSON} or ${CBOR_SEQUENCE}`,
    { wanted, available: [NDJSON, CBOR_SEQUENCE] },
  );
}
