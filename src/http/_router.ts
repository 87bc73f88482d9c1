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

/** Places that are remembered, for each method: with the names in them they take 500 KiB or so. */
const KNOWN_PLACES_MAX = 1000;
/** Whoever asks with longer ones takes no memory. */
const KNOWN_URL_LENGTH_MAX = 1024;
const NO_NAMES: Readonly<Record<string, string>> = Object.freeze({});

/** Finds what requests ask for. */
export class Router {
  readonly #routes: readonly Route[];
  readonly #router = new RegExpRouter<Route>();
  /** By method and URL without its query: most requests come for what was asked for before. */
  readonly #known = new Map<string, Remembered<Place>>();

  constructor(routes: readonly Route[]) {
    this.#routes = routes;
    for (const route of routes) {
      this.#router.add(route.method, route.path, route);
      this.#known.set(route.method, new Remembered(KNOWN_PLACES_MAX));
    }
  }

  /** What a request asks for; what has no route is answered with an error. */
  find(request: Request): Place {
    const { url } = request;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const end = url.indexOf("?");
    const match = (): Place | undefined => this.#match(method, getPath(request));
    const known = url.length > KNOWN_URL_LENGTH_MAX ? undefined : this.#known.get(method);
    const place = known === undefined
      ? match()
      : known.of(end < 0 ? url : url.slice(0, end), match);
    return place ?? this.#unknown(getPath(request));
  }

  #match(method: string, path: string): Place | undefined {
    const [found, stash] = this.#router.match(method, path);
    if (found.length === 0) return undefined;
    const [route, places] = found[0];
    const names = Object.entries(places).map(([name, value]) => [
      name,
      tryDecodeURIComponent(stash === undefined ? String(value) : stash[Number(value)]),
    ]);
    const { answer, path: pattern } = route;
    return { path, pattern, names: Object.fromEntries(names), answer };
  }

  #unknown(path: string): Place {
    const others = this.#routes.filter((route) => patternOf(route.path).test(path));
    const answer = (request: RouteRequest): Promise<Response> => {
      const { method, services } = request;
      try {
        services.guard.admitAny(request.raw);
        const allowed = others.map((route) => route.method);
        throw allowed.length === 0 ? unknownPath(path) : methodNotAllowed(method, allowed);
      } catch (error) {
        return Promise.resolve(request.refuse(error));
      }
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
