/**
 * Finds the route of a request: Hono's router, and Hono's reading of URLs. Without its app, whose context and chain of
 * promises took a small append as long as all of its checks.
 */
import { RegExpRouter } from "hono/router/reg-exp-router";
import { getPath, tryDecodeURIComponent } from "hono/utils/url";
import { Remembered } from "./_remembered.ts";
import type { Route } from "./_route.ts";
import type { Place, RouteRequest } from "./_route_request.ts";
import { RequestError } from "./problem.ts";

/** Places that are remembered, for each method: some 500 KiB with names as they are, 3 MiB with the longest. */
const KNOWN_PLACES_MAX = 1000;
/** Whoever asks for longer paths takes no memory. */
const KNOWN_PATH_LENGTH_MAX = 512;
const NO_NAMES: Readonly<Record<string, string>> = Object.freeze({});

/** Finds what requests ask for. */
export class Router {
  readonly #router = new RegExpRouter<Route>();
  readonly #patterns: readonly { readonly route: Route; readonly pattern: RegExp }[];
  /**
   * By method and path, which is all that a place depends on: most requests come for what was asked for before. Whoever
   * may not ask is remembered too; all that is lost by it is time.
   */
  readonly #known: ReadonlyMap<string, Remembered<Place>>;

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#router.add(route.method, route.path, route);
    this.#patterns = routes.map((route) => ({ route, pattern: patternOf(route.path) }));
    const methods = new Set<string>(routes.map(({ method }) => method));
    this.#known = new Map([...methods].map((of) => [of, new Remembered(KNOWN_PLACES_MAX)]));
  }

  /** What a request asks for; what has no route is answered with an error. */
  find(request: Request): Place {
    const method = request.method === "HEAD" ? "GET" : request.method;
    const path = getPath(request);
    const known = this.#known.get(method);
    if (known === undefined) return this.#unknown(path);
    const place = path.length > KNOWN_PATH_LENGTH_MAX
      ? this.#match(method, path)
      : known.of(path, () => this.#match(method, path));
    return place ?? this.#unknown(path);
  }

  #match(method: string, path: string): Place | undefined {
    const [found, values] = this.#router.match(method, path);
    if (found.length === 0) return undefined;
    const [{ answer, path: pattern }, places] = found[0];
    const names: Record<string, string> = {};
    for (const [name, at] of Object.entries(places)) {
      // The type is that of all of Hono's routers: others hand out values, this one where they are.
      names[name] = tryDecodeURIComponent(typeof at === "string" ? at : values![at]);
    }
    return { path, pattern, names: Object.freeze(names), answer };
  }

  #unknown(path: string): Place {
    const others = this.#patterns.filter(({ pattern }) => pattern.test(path))
      .map(({ route }) => route);
    // deno-lint-ignore require-await -- what `refuse` throws must reject
    const answer = async (request: RouteRequest): Promise<Response> => {
      const { method, services } = request;
      try {
        services.guard.admitAny(request.raw);
      } catch (error) {
        return request.refuse(error);
      }
      const allowed = others.map((route) => route.method);
      return request.refuse(
        allowed.length === 0 ? unknownPath(path) : methodNotAllowed(method, allowed),
      );
    };
    return { path, pattern: others[0]?.path, names: NO_NAMES, answer };
  }
}

/** As the router reads it. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replace(/:[a-z]+/gi, "[^/]+")}$`);
}

function unknownPath(path: string): RequestError {
  return new RequestError(
    404,
    `Cannot find ${path}: there is no such path; GET /docs shows which there are, as a page, ` +
      `and /openapi.json for programs`,
  );
}

function methodNotAllowed(method: string, allowed: readonly string[]): RequestError {
  return new RequestError(
    405,
    `Cannot ${method} this path: it takes ${allowed.join(", ")}`,
    { method, allowed },
    { allow: allowed.join(", ") },
  );
}
