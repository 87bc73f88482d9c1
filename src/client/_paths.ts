/** Paths of the HTTP API. */

/** A job. */
export function jobPath(job: string): string {
  return `/v1/jobs/${encodeURIComponent(job)}`;
}

/** A writer of a job. */
export function writerPath(job: string, writer: string): string {
  return `${jobPath(job)}/writers/${encodeURIComponent(writer)}`;
}

/** A checkpoint of a job: `latest`, or by its uuid. */
export function checkpointPath(job: string, at: string): string {
  return `${jobPath(job)}/checkpoints/${encodeURIComponent(at)}`;
}

/** A query with what is given; "" when nothing is. */
export function queryOf(
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? "" : `?${query}`;
}
