/** The description of all this for programs. */
import * as v from "valibot";
import { type Route, route } from "./_route.ts";
import type { RouteRequest } from "./_route_request.ts";
import { jsonResponse } from "./json.ts";
import { HTML } from "./media_types.ts";

/** Routes that describe the others. */
export const OPENAPI_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/openapi.json",
    operationId: "openapi",
    tag: "watch",
    summary: "Describes all this as OpenAPI 3.1",
    right: "none",
    request: {},
    responses: {
      200: {
        description: "The document",
        content: {
          "application/json": {
            description: "OpenAPI 3.1",
            schema: v.record(v.string(), v.unknown()),
          },
        },
      },
    },
    errors: [],
    handle: async (request) => jsonResponse(await request.services.document()),
  }),
  route({
    method: "GET",
    path: "/docs",
    operationId: "apiPage",
    tag: "watch",
    summary: "Describes all this as a page for people",
    right: "none",
    request: {},
    responses: {
      200: {
        description: "The page",
        content: { [HTML]: { description: "HTML that asks nothing of any other place" } },
      },
    },
    errors: [],
    handle: apiPage,
  }),
];

async function apiPage(request: RouteRequest): Promise<Response> {
  const { renderApiPage } = await import("./_api_page.ts");
  const { text, contentSecurityPolicy } = await renderApiPage(await request.services.document());
  return new Response(text, {
    headers: {
      "content-type": `${HTML}; charset=utf-8`,
      "content-security-policy": contentSecurityPolicy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}
