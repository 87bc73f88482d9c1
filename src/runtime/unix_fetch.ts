/**
 * Requests to a Unix socket.
 * @module
 */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";

/** Answers that never have a body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/** Makes a `fetch` whose requests go to the socket at `path`, whatever host they name. */
export function unixFetch(path: string): (request: Request) => Promise<Response> {
  if ("Deno" in globalThis) {
    let client: Deno.HttpClient | undefined;
    return (request) => {
      client ??= Deno.createHttpClient({ proxy: { transport: "unix", path } });
      return fetch(request, { client } as RequestInit);
    };
  }
  if ("Bun" in globalThis) {
    return (request) => fetch(request, { unix: path, timeout: false } as RequestInit);
  }
  return (request) => fetchOnNode(path, request);
}

async function fetchOnNode(socketPath: string, request: Request): Promise<Response> {
  const { request: send } = await import("node:http");
  const { pathname, search, host } = new URL(request.url);
  const { method, signal, body } = request;
  const headers = { host, ...Object.fromEntries(request.headers) };
  return await new Promise((resolve, reject) => {
    const options = { socketPath, method, headers, signal, path: `${pathname}${search}` };
    const sent = send(options, (answer) => resolve(responseOf(answer)));
    sent.once("error", reject);
    if (body === null) return void sent.end();
    const source = Readable.fromWeb(body as unknown as NodeStream);
    source.once("error", (error) => sent.destroy(error));
    source.pipe(sent);
  });
}

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 502, statusMessage: statusText, rawHeaders } = answer;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at], rawHeaders[at + 1]);
  }
  const hasBody = !WITHOUT_BODY.includes(status);
  if (!hasBody) answer.resume();
  const body = hasBody ? Readable.toWeb(answer) as unknown as ReadableStream<Uint8Array> : null;
  return new Response(body, { status, statusText, headers });
}
