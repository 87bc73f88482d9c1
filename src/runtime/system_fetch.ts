/**
 * The runtime's own `fetch`, for requests that may be silent for long: a check of every byte, a collection.
 * Owns: limits of time that the runtime sets by itself. Does not own: when a request is given up.
 * @module
 */

/** Where Node keeps what connects for `fetch`, in its own copy of undici. */
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

type Agent = new (options: { headersTimeout: number; bodyTimeout: number }) => object;

/** A `fetch` that waits for an answer as long as its signal lets it. */
export function systemFetch(): (request: Request) => Promise<Response> {
  if (typeof Deno !== "undefined") return (request) => fetch(request);
  if (typeof Bun !== "undefined") {
    const patient = { timeout: false } as RequestInit;
    return (request) => fetch(request, patient);
  }
  // Found out late: Node makes it when something of `fetch` is used first, such as the request.
  let patient: RequestInit | undefined;
  return (request) => fetch(request, patient ??= patientInit());
}

/**
 * Node gives up what is silent for 300 s, and lets only a connector of its own kind say otherwise. Where Node was
 * started with another one (for a proxy, say), that one's limits hold.
 */
function patientInit(): RequestInit {
  const found = (globalThis as unknown as Record<symbol, object | undefined>)[DISPATCHER];
  if (found?.constructor.name !== "Agent") return {};
  const dispatcher = new (found.constructor as Agent)({ headersTimeout: 0, bodyTimeout: 0 });
  return { dispatcher } as unknown as RequestInit;
}
