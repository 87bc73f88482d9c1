/** What a request passes before its route: who asks, from which page, by which name. */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { authorize, bearerOf } from "./_authorize.ts";
import type { Access, Grant, Right } from "./access.ts";
import { RequestError } from "./problem.ts";

const LOOPBACK = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/i;
const PREFLIGHT_AGE_S = 600;

/** Who and what is let in. */
export interface GuardOptions {
  readonly access: Access | undefined;
  readonly corsOrigins: readonly string[];
  readonly hostnames: readonly string[] | undefined;
}

/** What a route needs of whoever asks. */
export interface Demand {
  readonly right: Right | "none";
  /** What it must be had on: the job that the path names, the whole store, or any job. */
  readonly on: "job" | "store" | "own-jobs";
}

/** Stands before every route. */
export class Guard {
  readonly #options: GuardOptions;
  /** The name that was let in last: mostly it comes again. */
  #knownHost: string | undefined;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /**
   * Lets a request through to its route; answers what whoever asks may do, where that is known.
   *
   * @param job The job that its path names.
   * @throws {RequestError} 403 to pages of other sites
   * @throws {TidemarkError} `unauthorized`, `forbidden`
   */
  admit(request: Request, { right, on }: Demand, job: string): Grant | undefined {
    const { access } = this.#options;
    const { headers } = request;
    this.#refuseForeign(headers, request);
    const grant = bearerOf(access, headers);
    if (right === "none" || access === undefined) return grant;
    return authorize(grant, right, on === "job" ? { job } : on);
  }

  /** For what has no route: it is told to those alone who have a token. */
  admitAny(request: Request): void {
    this.#refuseForeign(request.headers, request);
    authorize(bearerOf(this.#options.access, request.headers), "read", "own-jobs");
  }

  /**
   * A page of another site, open in a browser on this machine, may not reach a sidecar that trusts
   * its machine: neither as what it is, nor by a name of its own that it has led to this address.
   */
  #refuseForeign(headers: Headers, request: Request): void {
    const { corsOrigins, hostnames } = this.#options;
    if (hostnames !== undefined) this.#refuseForeignHost(headers.get("host"), hostnames);
    const origin = headers.get("origin");
    if (origin === null || corsOrigins.includes(origin)) return;
    if (origin === new URL(request.url).origin) return;
    throw new RequestError(
      403,
      `Cannot answer a page of ${origin}: only pages of this address may ask, and those that ` +
        `--cors-origin names`,
    );
  }

  #refuseForeignHost(host: string | null, hostnames: readonly string[]): void {
    if (host === null || host === this.#knownHost) return;
    const name = host.replace(/:[0-9]*$/, "");
    if (!LOOPBACK.test(name) && !hostnames.includes(name.toLowerCase())) throw foreignHost(name);
    this.#knownHost = host;
  }
}

/** Lets pages of these origins ask, and see the answers. */
export function crossOrigin(origins: readonly string[]): MiddlewareHandler {
  return cors({
    origin: [...origins],
    allowMethods: ["GET", "HEAD", "PUT", "POST", "DELETE"],
    allowHeaders: [
      "authorization",
      "content-type",
      "content-encoding",
      "idempotency-key",
      "tidemark-offset",
      "tidemark-run",
    ],
    exposeHeaders: ["allow", "etag", "location", "retry-after", "www-authenticate"],
    maxAge: PREFLIGHT_AGE_S,
  });
}

function foreignHost(name: string): RequestError {
  return new RequestError(
    403,
    `Cannot answer at the name ${name}: without tokens only names of loopback are answered, as a ` +
      `page of another site could lead a name of its own here; use a token, or 127.0.0.1`,
  );
}
