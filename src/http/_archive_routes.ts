/** Whole jobs as archives: export one, import one. */
import { type Answer, answer } from "./_answer.ts";
import { beginning } from "./_answer_streams.ts";
import { JOB_IMPORT } from "./_answers.ts";
import { EXPORT_QUERY, JOB_PATH } from "./_requests.ts";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { TAR } from "./media_types.ts";

/** Routes of archives. */
export const ARCHIVE_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/jobs/:job/archive",
    operationId: "exportJob",
    tag: "jobs",
    summary: "Writes the whole job as one archive",
    right: "read",
    request: { path: JOB_PATH, query: EXPORT_QUERY },
    responses: {
      200: {
        description: "The archive; cut where something is bad",
        content: { [TAR]: { description: "A tar file, archive.json first" } },
        headers: { "content-disposition": "The name of a file for it" },
      },
    },
    errors: [
      "checkpoint-not-found",
      "snapshot-expired",
      "import-unfinished",
      "backpressure",
      "aborted",
    ],
    handle: (request, { path, query }) => exportJob(request, path.job, query.at),
  }),
  route({
    method: "PUT",
    path: "/v1/jobs/:job/archive",
    operationId: "importJob",
    tag: "jobs",
    summary: "Makes the job from an archive",
    right: "admin",
    request: {
      path: JOB_PATH,
      body: { content: { [TAR]: { description: "An archive, of any length" } } },
    },
    responses: {
      201: {
        description: "The job was made",
        json: JOB_IMPORT,
        headers: { location: "Its path" },
      },
    },
    errors: ["job-exists", "invalid-archive", "aborted"],
    handle: (request, { path }) => importJob(request, path.job),
  }),
];

async function exportJob(
  { store, signal, services }: RouteRequest,
  job: string,
  at: string | undefined,
): Promise<Response> {
  const body = await services.answerStreams.open(() =>
    beginning(store.exportJob(job, { at, signal }))
  );
  return new Response(body, {
    headers: {
      "content-type": TAR,
      "content-disposition": `attachment; filename="${job}.tar"`,
      "cache-control": "no-store",
    },
  });
}

/** The body goes to the store as it comes: only a piece of it is in memory. */
async function importJob(request: RouteRequest, job: string): Promise<Answer> {
  const { store, signal } = request;
  const imported = await store.importJob(job, request.stream(), { signal });
  return answer(imported, 201, { location: `/v1/jobs/${job}` });
}
